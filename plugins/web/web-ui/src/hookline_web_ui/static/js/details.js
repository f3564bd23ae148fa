/** The details of a turn, in a panel beside the chat. @module */
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { call } from "./api.js";
import { t } from "./i18n.js";
import { ViewParts } from "./view.js";
import { spelled } from "./visible.js";

/** @param {{chat: import("./chat.js").Chat, turn: string, asks: boolean, close: () => void}} props */
export function Details({ chat, turn, asks, close }) {
  const [view, setView] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState("");
  const title = useRef(/** @type {any} */ (null));
  const read = () => {
    setProblem("");
    const path = `/api/sessions/${encodeURIComponent(chat.id)}/turns/${encodeURIComponent(turn)}`;
    call("GET", path).then(setView, (error) => {
      if (error.status === 404) setView({ title: t("Turn"), parts: [] });
      else setProblem(error.message);
    });
  };
  useEffect(() => {
    title.current.focus();
    read();
  }, []);
  return html`<section
    class="details" role="region" aria-label=${t("Turn")}
    onKeyDown=${(/** @type {KeyboardEvent} */ e) => e.key === "Escape" && (e.preventDefault(), close())}
  >
    <header class="bar">
      <h2 class="title" tabindex="-1" ref=${title}>${spelled(view?.title || t("Turn"))}</h2>
      <button type="button" class="plain icon" aria-label=${t("Close details")} onClick=${close}>✕</button>
    </header>
    ${asks && html`<button type="button" class="asks-behind" onClick=${close}>${t("A question is waiting in the chat")}</button>`}
    <div class="details-body" tabindex="0">
      ${view?.subtitle && html`<p class="quiet">${spelled(view.subtitle)}</p>`}
      ${view && html`<${ViewParts} view=${view} />`}
      ${view && !view.parts?.length && html`<p class="empty">${t("No details were recorded for this turn.")}</p>`}
      ${!view && !problem && html`<p class="quiet">${t("Loading …")}</p>`}
      ${problem &&
      html`<p class="notice tone-bad">${problem}</p>
        <p class="actions"><button type="button" onClick=${read}>${t("Try again")}</button></p>`}
    </div>
  </section>`;
}
