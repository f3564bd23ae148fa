/** What the agent is doing, above the message box. @module */
import { html } from "../vendor/preact.js";
import { N_, t } from "./i18n.js";
import { Until } from "./question.js";

const STEPS = {
  ...{ model: N_("Calling the model"), thinking: N_("Thinking"), answering: N_("Writing"), waiting: N_("Waiting") },
  tool: N_("Using a tool"),
};

/**
 * The state of the turn: a status for screen readers, and visible details.
 * @param {{chat: import("./chat.js").Chat, stream: string, expired: boolean}} props
 */
export function Status({ chat, stream: state, expired }) {
  const turn = chat.turn;
  let [busy, done, status] = [false, false, ""];
  /** @type {any} */
  let more = "";
  if (state === "waiting") status = t("Offline. Sent messages are kept. Reconnecting …");
  else if (chat.question) status = chat.question.may_answer ? t("Waiting for your answer") : t("Waiting for an admin's answer");
  else if (chat.running) {
    busy = true;
    status = t("Working");
    more = t(STEPS[/** @type {"model"} */ (turn?.step)] ?? N_("Working")) + (turn?.about ? `: ${turn.about}` : " …");
    if (turn?.retry_at) more = html`${more} · <${Until} until=${turn.retry_at} sentence=${N_("trying again in {n} s")} />`;
  } else if (chat.results.size) [done, status] = [true, t("Done")];
  return html`<div class=${`state${done && !expired ? " unseen" : ""}`} data-busy=${busy}>
    <span class="pulse" aria-hidden="true"></span>
    <span role="status" class=${more ? "unseen" : ""}>${status}</span>
    ${more && html`<span class="quiet" aria-hidden="true">${more}</span>`}
    ${expired && html`<span>${t("You have been signed out.")} <a href=${`/login?next=${location.pathname}`}>${t("Sign in again")}</a></span>`}
  </div>`;
}
