/** Blocks of code, coloured if their language is known, with a copy button. @module */
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { copy } from "./copy.js";
import { t } from "./i18n.js";

/** Draws diagrams; loaded for the first that is shown. @type {any} */
let Drawn = null;
const CHUNK = 4000;
/** Longer code stays plain. */
const MAX_COLOURED_CHARS = 30000;
/** Milliseconds between two colourings of code that is being streamed, and more for long code. */
const COLOUR_INTERVAL = 200;
/** The languages that `highlight.js` knows, which is loaded for the first of them. */
export const COLOURED = new Set(
  "bash css diff docker ini javascript json lua php python ruby sql yaml c cpp c++ h hpp csharp cs go golang java kotlin kt rust rs scala swift dart html xml svg vue xhtml sh shell zsh console scss less patch dockerfile toml cfg conf js jsx mjs ts tsx typescript json5 jsonc jsonl py python3 rb yml postgresql mysql sqlite".split(
    " ",
  ),
);

/** The colourings, one after the other, each in a task of its own. @type {Promise<any>} */
let queue = Promise.resolve();

/** @param {() => string} text @param {string} language @returns {Promise<{text: string, node: any}>} */
function coloured(text, language) {
  const one = queue.then(async () => {
    const { highlight } = await import("./highlight.js");
    await new Promise((resolve) => setTimeout(resolve));
    const now = text();
    const parts = highlight(now, language).map((token) =>
      token.kind ? html`<span class=${`code-${token.kind}`}>${token.text}</span>` : token.text,
    );
    return { text: now, node: html`<span key="coloured">${parts}</span>` };
  });
  queue = one.catch(() => {});
  return one;
}

/**
 * Long code has several text nodes, so that only the last one changes while it is streamed. The
 * colours follow the text a moment later.
 * @param {{text: string, language?: string}} props
 */
export function CodeBlock({ text, language = "" }) {
  const [done, setDone] = useState({ text: "", node: /** @type {any} */ (null) });
  const [drawing, setDrawing] = useState(false);
  const current = useRef(text);
  const busy = useRef(false);
  current.current = text;
  useEffect(() => {
    const known = COLOURED.has(language.toLowerCase()) && text.length <= MAX_COLOURED_CHARS;
    if (busy.current || !known || done.text === text) return;
    busy.current = true;
    const colour = () =>
      coloured(() => current.current, language).then(
        (made) => {
          busy.current = false;
          setDone(made);
        },
        () => {}, // the module could not be loaded: the code stays plain
      );
    if (done.text) setTimeout(colour, COLOUR_INTERVAL + text.length / 50);
    else colour();
  }, [text, language, done]);
  const begins = text.startsWith(done.text) ? done : { text: "", node: null };
  const chunks = [];
  for (let at = begins.text.length; at < text.length; at += CHUNK) {
    chunks.push(html`<span>${text.slice(at, at + CHUNK)}</span>`);
  }
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
    ${drawing ? html`<${Drawn} key=${text} text=${text} />` : html`<pre tabindex="0"><code>${begins.node}${chunks}</code></pre>`}
  </div>`;
}
