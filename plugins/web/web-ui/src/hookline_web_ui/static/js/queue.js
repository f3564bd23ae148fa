/** The messages that wait for the running turn. @module */
import { html } from "../vendor/preact.js";
import { t, tn } from "./i18n.js";
import { prose } from "./visible.js";

/** Queued messages to show. */
const MAX_SHOWN = 20;

/** @param {{queue: any[], mine: boolean, take: (message: any, edit: boolean) => void}} props */
export function Queue({ queue, mine, take }) {
  if (!queue.length) return null;
  const row = (/** @type {any} */ one) => {
    const text = prose(one.text || one.files?.join(", ") || "");
    const name = text.slice(0, 40);
    return html`<li key=${one.message_id}>
      <span class="quiet">${t("Next:")}</span> <span class="text" dir="auto" title=${text}>${text}</span>
      ${mine &&
      html`<button type="button" class="plain" aria-label=${t("Edit “{name}”", { name })} onClick=${() => take(one, true)}>${t("Edit")}</button>
        <button type="button" class="plain" aria-label=${t("Remove “{name}”", { name })} onClick=${() => take(one, false)}>${t("Remove")}</button>`}
    </li>`;
  };
  return html`<ul class="queue" aria-label=${t("Queued messages")} tabindex="0">
    ${queue.slice(0, MAX_SHOWN).map(row)}
    ${queue.length > MAX_SHOWN && html`<li class="quiet">${tn("… and {n} more", "… and {n} more", queue.length - MAX_SHOWN)}</li>`}
  </ul>`;
}
