/** Blocks of code, coloured if their language is known, with a copy button. @module */
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { copy } from "./copy.js";
import { t } from "./i18n.js";
import { Kept } from "./text.js";

/** Draws diagrams; loaded for the first that is shown. @type {any} */
let Drawn = null;
/** Code is drawn and coloured in parts, which end at the first line end after so many characters. */
const PART_CHARS = 4000;
/** What follows stays plain. */
const MAX_COLOURED_CHARS = 60000;
/** Milliseconds between two colourings of code that is being streamed. */
const COLOUR_INTERVAL = 200;
/** The languages that `highlight.js` knows, which is loaded for the first of them. */
export const COLOURED = new Set(
  "bash css diff docker ini javascript json lua php python ruby sql yaml c cpp c++ h hpp csharp cs go golang java kotlin kt rust rs scala swift dart html xml svg vue xhtml sh shell zsh console scss less patch dockerfile toml cfg conf js jsx mjs ts tsx typescript json5 jsonc jsonl py python3 rb yml postgresql mysql sqlite".split(
    " ",
  ),
);

/** @param {string} text */
function partsOf(text) {
  const parts = [];
  for (let at = 0, end = 0; at < text.length; at = end) {
    end = text.indexOf("\n", at + PART_CHARS) + 1 || text.length;
    parts.push(text.slice(at, end));
  }
  return parts;
}

/** @typedef {{text: string, mark: string, node: any}} Coloured a part, and the kinds and lengths of its tokens */

/**
 * Colour the first part that has changed.
 * @param {string[]} parts @param {Array<{kind: string, text: string}>} tokens @param {Coloured[]} known
 * @returns {Coloured[]|null} null if there is no such part
 */
function colourNext(parts, tokens, known) {
  let next = 0; // the token that goes on
  let used = 0; // characters of it that are in earlier parts
  for (const [n, text] of parts.entries()) {
    const spans = [];
    for (let room = text.length; room; ) {
      const token = tokens[next];
      const piece = token.text.slice(used, used + room);
      spans.push({ kind: token.kind, text: piece });
      room -= piece.length;
      used += piece.length;
      if (used === token.text.length) [next, used] = [next + 1, 0];
    }
    const mark = spans.map((one) => one.kind + one.text.length).join();
    if (known[n]?.text === text && known[n].mark === mark) continue;
    const nodes = spans.map((one) => (one.kind ? html`<span class=${`code-${one.kind}`}>${one.text}</span>` : one.text));
    return [...known.slice(0, n), { text, mark, node: html`<${Kept}>${nodes}</${Kept}>` }, ...known.slice(n + 1)];
  }
  return null;
}

/**
 * The colours follow the text a moment later, one part in a task.
 * @param {{text: string, language?: string}} props
 */
export function CodeBlock({ text, language = "" }) {
  const [done, setDone] = useState({ whole: "", parts: /** @type {Coloured[]} */ ([]) });
  const [drawing, setDrawing] = useState(false);
  const current = useRef(text);
  const busy = useRef(false);
  current.current = text.slice(0, MAX_COLOURED_CHARS);
  useEffect(() => {
    if (busy.current || done.whole === current.current || !COLOURED.has(language.toLowerCase())) return;
    busy.current = true;
    const colour = async () => {
      const { highlight } = await import("./highlight.js"); // if it cannot be loaded, the code stays plain
      await new Promise((resolve) => setTimeout(resolve, done.whole ? COLOUR_INTERVAL : 0));
      const now = current.current;
      const parts = colourNext(partsOf(now), highlight(now, language), done.parts);
      busy.current = false;
      setDone(parts ? { whole: "", parts } : { ...done, whole: now });
    };
    colour().catch(() => {});
  }, [text, language, done]);
  const parts = partsOf(text).map((part, n) => {
    const known = part.startsWith(done.parts[n]?.text ?? part) ? done.parts[n] : undefined;
    return html`<span class="part" key=${n}>${known?.node}${part.slice(known?.text.length ?? 0)}</span>`;
  });
  const isDiagram = language.toLowerCase() === "mermaid";
  const toggle = async () => {
    Drawn ??= (await import("./diagram.js")).Diagram;
    setDrawing(!drawing);
  };
  return html`<div class="code" dir="ltr">
    <div class="head">
      <span>${language || t("text")}</span>
      ${isDiagram && html`<button type="button" class="plain" aria-pressed=${drawing} onClick=${toggle}>${drawing ? t("Show source") : t("Show diagram")}</button>`}
      <button type="button" class="plain" onClick=${(/** @type {any} */ e) => copy(e, text)}>
        ${t("Copy")}
      </button>
    </div>
    ${drawing ? html`<${Drawn} key=${text} text=${text} />` : html`<pre tabindex="0"><code>${parts}</code></pre>`}
  </div>`;
}
