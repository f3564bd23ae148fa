/** Copies texts to the clipboard, and tells it on the button. @module */
import { t } from "./i18n.js";

/** @param {{currentTarget: HTMLElement}} event @param {string} text */
export const copy = (event, text) => tell(event.currentTarget, () => navigator.clipboard.writeText(text));

/**
 * Copy an answer with its formatting; where only text can be pasted, it is Markdown.
 * @param {{currentTarget: HTMLElement}} event @param {string} text the answer's Markdown
 */
export function copyFormatted(event, text) {
  const whole = document.createElement("div");
  const parts = event.currentTarget.closest("article")?.querySelectorAll(":scope > .md") ?? [];
  whole.append(...[...parts].map((part) => part.cloneNode(true)));
  for (const one of whole.querySelectorAll("button, .code > .head")) one.remove();
  const types = { "text/plain": text, "text/html": new XMLSerializer().serializeToString(whole) };
  const blobs = Object.entries(types).map(([type, body]) => [type, new Blob([body], { type })]);
  return tell(event.currentTarget, () => navigator.clipboard.write([new ClipboardItem(Object.fromEntries(blobs))]));
}

/** @param {HTMLElement} button @param {() => Promise<void>} action */
async function tell(button, action) {
  const before = button.textContent;
  try {
    await action();
    button.textContent = t("Copied");
  } catch {
    button.textContent = t("Failed");
  }
  setTimeout(() => (button.textContent = before), 1500);
}
