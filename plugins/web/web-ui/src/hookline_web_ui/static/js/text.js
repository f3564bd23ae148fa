/** Literal text and differences between texts. @module */
import { html } from "../vendor/preact.js";
import { t } from "./i18n.js";
import { difference, unified } from "./util.js";
import { pieces } from "./visible.js";

/** What is not drawn again while it is the same object: preact compares components only, not elements. @param {{children?: any}} props */
export const Kept = ({ children }) => children;

/** A text from outside, with what is invisible or misleading marked. @param {{text: string}} props */
export function Visible({ text }) {
  return pieces(text).map((piece) =>
    piece.hidden ? html`<span class="control" title=${t("Invisible or misleading character")}>${piece.text}</span>` : piece.text,
  );
}

/** A guard's text; parts in backticks are literal. @param {{text: string}} props */
export const Quoting = ({ text }) =>
  text.split(/`([^`\n]+)`/).map((one, n) => (n % 2 ? html`<span class="mono"><${Visible} text=${one} /></span>` : html`<${Visible} text=${one} />`));

/** @param {{diff: string|{before: string, after: string, name?: string}}} props */
export function DiffView({ diff: given }) {
  const diff = typeof given === "string" ? { before: "", after: "", name: "" } : given;
  const lines = typeof given === "string" ? unified(given) : difference(diff.before ?? "", diff.after ?? "");
  const signs = { add: "+ ", del: "- ", same: "  ", gap: "" };
  return html`<div
    class="diff" tabindex="0" role="group"
    aria-label=${diff.name ? t("Changes in {name}", { name: diff.name }) : t("Changes")}
  >
    ${lines.map((line) => html`<div class=${line.mark}>${signs[line.mark]}<${Visible} text=${line.text} /></div>`)}
    ${lines.length ? null : html`<div class="gap">${t("No changes.")}</div>`}
  </div>`;
}

/** An image that is a file of the page. @param {{file?: string|null}} block @param {any} [alt] */
export const picture = ({ file }, alt) =>
  file
    ? html`<a href=${`/api/files/${file}`} target="_blank">
        <img class="picture" src=${`/api/files/${file}`} alt=${alt || t("attached image")} loading="lazy" />
      </a>`
    : html`<span class="quiet small">[${t("image")}]</span>`;
