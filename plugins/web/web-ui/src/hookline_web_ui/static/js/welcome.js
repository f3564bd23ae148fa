/** What is shown in place of the messages. @module */
import { html } from "../vendor/preact.js";
import { t, tx } from "./i18n.js";

/** A chat without messages. @param {{give: (text: string) => void}} props */
export function Empty({ give }) {
  const suggestions = [t("What can you do?"), t("Summarise the files in this folder"), "/help"];
  return html`<div class="welcome">
    <h2>${t("What can I help with?")}</h2>
    <p class="quiet">
      ${tx("Work continues if you close this page. Type {key} for commands.", { key: html`<kbd>/</kbd>` })}${" "}
      <span class="mouse">${tx("Press {key} for keyboard shortcuts, or drop a file here.", { key: html`<kbd>?</kbd>` })}</span>
    </p>
    <div class="actions">
      ${suggestions.map((one) => html`<button type="button" onClick=${() => give(one)}>${one}</button>`)}
    </div>
  </div>`;
}

/** A chat that could not be loaded. @param {{error: import("./api.js").ApiError, again: () => void}} props */
export const Trouble = ({ error, again }) =>
  html`<div class="welcome trouble">
    <h2>${error.status === 404 ? t("Chat not found") : t("Could not open the chat")}</h2>
    <p>${error.message}</p>
    <div class="actions">
      <button type="button" class="primary" onClick=${again}>${t("Try again")}</button>
      <a class="button" href="/">${t("New chat")}</a>
      <a class="button" href="/sessions">${t("All sessions")}</a>
    </div>
  </div>`;
