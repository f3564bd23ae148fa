/** Literal text and differences between texts. @module */
import { html } from "../vendor/preact.js";
import { difference, unified } from "./util.js";
import { pieces } from "./visible.js";

/** A text from outside, with what is invisible or misleading marked. @param {{text: string}} props */
export function Visible({ text }) {
  return pieces(text).map((piece) =>
    piece.hidden ? html`<span class="control" title="Invisible or misleading character">${piece.text}</span>` : piece.text,
  );
}

/** A guard's text; parts in backticks are literal. @param {{text: string}} props */
export const Quoting = ({ text }) =>
  text.split(/`([^`\n]+)`/).map((one, n) => (n % 2 ? html`<span class="mono"><${Visible} text=${one} /></span>` : html`<${Visible} text=${one} />`));

/** @param {{diff: string|{before: string, after: string, name?: string}}} props */
export function DiffView({ diff: given }) {
  const diff = typeof given === "string" ? { before: "", after: "", name: "" } : given;
  const lines =
    typeof given === "string" ? unified(given) : difference(diff.before ?? "", diff.after ?? "");
  const signs = { add: "+ ", del: "- ", same: "  ", gap: "" };
  return html`<div
    class="diff" tabindex="0" role="group"
    aria-label=${diff.name ? `Changes in ${diff.name}` : "Changes"}
  >
    ${lines.map((line) => html`<div class=${line.mark}>${signs[line.mark]}<${Visible} text=${line.text} /></div>`)}
    ${lines.length ? null : html`<div class="gap">No changes.</div>`}
  </div>`;
}
