/**
 * Renders Markdown as elements: an allow-list of the tokens of marked's lexer. Raw HTML stays text,
 * and only images of the chat's own files are loaded. While text is streamed, only its last block
 * is lexed again. Long text is rendered in pieces, so that the page stays responsive. @module
 */
import { Lexer, html, useEffect, useState } from "../vendor/preact.js";
import { CodeBlock } from "./code.js";
import { t } from "./i18n.js";
import { Footnotes, extensions } from "./markdown_extensions.js";
import { Kept, picture } from "./text.js";
import { outside } from "./util.js";
import { otherHost, prose } from "./visible.js";

/** Streamed Markdown: complete blocks, and the last one, which may still change. */
export class StreamedMarkdown {
  constructor() {
    /** The text drawn so far. */
    this.text = "";
    this.done = false;
    /** The ids of the images that are shown. @type {Set<string>} */
    this.shown = new Set();
    /** Return the files of the chat, which images may show. @type {() => any[]} */
    this.files = () => [];
    /** @type {any[]} */
    this.last = [];
    this.restart();
  }

  /**
   * @param {string} text the text so far; continuing the previous text is cheap
   * @param {boolean} done whether the text is complete
   * @param {number} room about how many more characters to draw now
   */
  set(text, done = false, room = Infinity) {
    if (text === this.text && done === this.done) return this;
    let drawn = this.text.length;
    if (!text.startsWith(this.text)) {
      this.restart();
      this.done = false;
      drawn = 0;
    }
    if (done && !this.done) this.complete(text);
    this.done = done;
    // The open block is lexed again each time, so a larger one is updated less often.
    let end = drawn + Math.max(room, (drawn - this.open) / 2);
    if (end < text.length) end = Math.max(text.lastIndexOf("\n", end) + 1, drawn + 1, end - room / 2);
    this.text = text.slice(0, end);
    let tokens = this.lex(this.open);
    const begun = this.open;
    for (const cut of seams(tokens, this.text, begun)) this.keep(this.lex(this.open, cut).map(vnode), cut);
    if (this.open > begun) tokens = this.lex(this.open);
    const settled = tokens.findLastIndex((token) => token.type !== "space");
    for (const token of tokens.slice(0, Math.max(settled, 0))) {
      this.keep(token.type === "space" ? null : vnode(token), this.open + token.raw.length);
    }
    this.last = tokens.slice(Math.max(settled, 0)).map(vnode);
    return this;
  }

  /** @param {number} from @param {number} [to] */
  lex(from, to) {
    return lex(this.text.slice(from, to), false, this);
  }

  /** Note what is known only of a complete text. @param {string} text */
  complete(text) {
    const links = text.match(DEFINED);
    const notes = new Footnotes(text);
    const images = text.includes("![") ? this.files() : [];
    if (!links && !notes.texts.size && !images.length) return;
    this.restart();
    this.links = links && new Lexer().lex(links.join("\n\n")).links;
    [this.notes, this.images] = [notes, images];
  }

  restart() {
    /** The offset of the last block. @type {number} */
    this.open = 0;
    /** Complete blocks of about {@link LOT_CHARS} together, which are laid out independently. @type {any[]} */
    this.lots = [];
    /** @type {number} */
    this.lotBegan = 0;
    /** @type {any[]} */
    this.whole = [];
    /** @type {any} link definitions, known once the text is complete */
    this.links = null;
    /** @type {Footnotes|null} known once the text is complete, as are the images */
    this.notes = null;
    /** @type {any[]} */
    this.images = [];
  }

  /** @param {any} block a complete block @param {number} end its end */
  keep(block, end) {
    this.open = end;
    if (block) this.whole.push(html`<${Kept}>${block}</${Kept}>`);
    if (end - this.lotBegan < LOT_CHARS) return;
    this.lots.push(this.lot(this.whole));
    this.whole = [];
    this.lotBegan = end;
  }

  /** @param {any[]} blocks */
  lot(blocks) {
    return html`<${Kept} key=${this.lots.length}><div class="lot">${blocks}</div></${Kept}>`;
  }

  /** What to draw; complete blocks are the same objects each time. */
  get nodes() {
    const lots = [...this.lots, this.lot([...this.whole, ...this.last])];
    return this.notes?.texts.size ? [...lots, footnotes(this.notes, this.images)] : lots;
  }
}

const LOT_CHARS = 4000;
/** A paragraph or list of more than twice as many characters is drawn in pieces. */
const PIECE_CHARS = 1500;

/**
 * Where to cut the block that begins at `open`, if it is very long.
 * @param {any[]} tokens @param {string} text @param {number} open @returns {Iterable<number>}
 */
function* seams([token, ...more], text, open) {
  if (text.length - open < 2 * PIECE_CHARS || more.some((one) => one.type !== "space")) return;
  if (token.type === "paragraph") for (let at = open; (at = seam(text, at)); ) yield at;
  if (token.type !== "list") return;
  let at = open;
  for (const [n, item] of token.items.entries()) {
    const counted = !token.ordered || item.raw.trimStart().startsWith(`${token.start + n}`);
    if (counted && at - open >= PIECE_CHARS && text.length - at >= PIECE_CHARS) yield (open = at);
    at += item.raw.length;
  }
}

/** A mark between spaces or within a word is none of a pair. */
const STRAY = /\\.|(?<=\s)[*_~](?=\s)|(?<=\w)_(?=\w)/g;
/** Marks that come in pairs: of code and of bold text, which are never cut, and the others. */
const PAIRED = [/`/, /\*\*/, /\*/, /_/, /~/, /\$/, /[[\]]/];

/**
 * Return where to cut a very long paragraph that begins at `open`: before a word, best after a
 * sentence, and outside of emphasis and links if there is such a place. Return 0 if it is short.
 * @param {string} text @param {number} open
 */
function seam(text, open) {
  const rest = text.length - open;
  if (rest < 2 * PIECE_CHARS) return 0;
  const piece = text.slice(open, open + PIECE_CHARS + 1);
  let any = 0;
  for (const end of [". ", "。", " "]) {
    for (let at = PIECE_CHARS; at > PIECE_CHARS / 2; at -= 40) {
      const cut = piece.lastIndexOf(end, at - end.length) + end.length;
      if (cut < PIECE_CHARS / 2) break;
      if (!/\p{L}/u.test(piece[cut] ?? "")) continue;
      const begun = piece.slice(0, cut).replace(STRAY, "");
      const within = PAIRED.findIndex((mark) => begun.split(mark).length % 2 === 0);
      if (within < 0) return open + cut;
      if (within > 1) any ||= open + cut;
    }
  }
  return rest > 4 * PIECE_CHARS ? any : 0;
}
const DEFINED = /^ {0,3}\[(?!\^)[^\]\n]+\]:.*$/gm;

/**
 * @param {string} text
 * @param {boolean} breaks whether to keep line breaks
 * @param {import("./markdown_extensions.js").Known} known
 */
function lex(text, breaks, known) {
  try {
    const lexer = new Lexer({ gfm: true, breaks, extensions: extensions(text, known) });
    Object.assign(lexer.tokens.links, known.links);
    return lexer.lex(text);
  } catch {
    return [{ type: "text", raw: text, text }];
  }
}

/** @param {string} text @param {boolean} [breaks] whether to keep line breaks */
export function markdown(text, breaks = false) {
  const source = prose(text.replace(/\r\n?/g, "\n"));
  const notes = new Footnotes(source);
  const nodes = lex(source, breaks, { notes }).map(vnode);
  return notes.texts.size ? [...nodes, footnotes(notes, [])] : nodes;
}

/** @param {Footnotes} notes @param {any[]} images */
function footnotes(notes, images) {
  const note = (/** @type {{number: number, text: string}} */ one) =>
    html`<li key=${one.number} data-note=${one.number} tabindex="-1">
      ${lex(one.text, false, { images }).map(within)}
      <button type="button" class="plain" aria-label=${t("Back to the text")} onClick=${goTo(`[data-reference="${one.number}"]`)}>↩</button>
    </li>`;
  return html`<section class="footnotes" aria-label=${t("Footnotes")} key="footnotes">
    <ol dir="auto">${notes.all.map(note)}</ol>
  </section>`;
}

/** Go to an element of the same text. @param {string} selector */
const goTo = (selector) => (/** @type {any} */ event) => event.currentTarget.closest(".md")?.querySelector(selector)?.focus();

/** @param {any[]|undefined} tokens @param {string} [text] */
const inner = (tokens, text = "") => (tokens ? tokens.map(vnode) : decoded(text));

const ENTITIES =
  ' amp& lt< gt> quot" apos\' nbsp\u00a0 copy© hellip… mdash— ndash– euro€ rarr→ larr← times× deg° bull• middot· le≤ ge≥ ne≠';

/** @param {string} text */
function decoded(text) {
  return text.replace(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|(\w+));/g, (all, ten, hex, name) => {
    const code = ten ? Number(ten) : hex ? parseInt(hex, 16) : 0;
    if (code > 0 && code < 0x110000) return prose(String.fromCodePoint(code));
    return new RegExp(` ${name}(\\W)`).exec(ENTITIES)?.[1] ?? all;
  });
}

/** @param {string} href @param {any} content @param {string} text */
function link(href, content, text) {
  const safe = outside(href);
  if (!safe) return content;
  const host = otherHost(decoded(text), safe);
  return html`<a href=${safe} title=${safe} target="_blank" rel="noopener noreferrer nofollow"
    >${content}${host && html` <span class="control">→ ${host}</span>`}</a
  >`;
}

/**
 * A block within a list or a quotation, which has the direction of its first letters. (An element
 * with `dir` of its own would not count there.)
 * @param {any} token @returns {any}
 */
const within = (token) => vnode({ ...token, within: true });

/** @param {any} token @returns {any} */
function vnode(token) {
  const direction = token.within ? undefined : "auto";
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading": {
      const tag = `h${Math.min(token.depth + 2, 6)}`;
      return html`<${tag} dir=${direction} data-depth=${token.depth}>${inner(token.tokens)}</${tag}>`;
    }
    case "paragraph":
      return html`<p dir=${direction}>${inner(token.tokens)}</p>`;
    case "code":
      return html`<${CodeBlock} text=${token.text} language=${(token.lang ?? "").split(/\s/)[0]} />`;
    case "list": {
      const [tag, start] = token.ordered ? ["ol", token.start] : ["ul"];
      return html`<${tag} dir="auto" start=${start === 1 ? undefined : start}>${token.items.map(vnode)}</${tag}>`;
    }
    case "list_item":
      return html`<li>${token.tokens.map(within)}</li>`;
    case "checkbox":
      return html`<input type="checkbox" disabled checked=${token.checked} aria-label="done" /> `;
    case "table":
      return table(token);
    case "hr":
    case "br":
      return html`<${token.type} />`;
    case "strong":
    case "em":
    case "del":
      return html`<${token.type}>${inner(token.tokens)}</${token.type}>`;
    case "blockquote":
      return html`<blockquote dir="auto">${token.tokens.map(within)}</blockquote>`;
    case "details":
      return html`<details class="fold" open=${token.open || undefined}>
        <summary dir="auto">${inner(token.summary)}</summary>
        <div class="lot">${inner(token.tokens)}</div>
      </details>`;
    case "reference":
      return html`<sup>
        <button
          type="button" class="plain" data-reference=${token.number} aria-label=${`Footnote ${token.number}`}
          onClick=${goTo(`[data-note="${token.number}"]`)}
        >
          ${token.number}
        </button>
      </sup>`;
    case "formula":
      return html`<${Formula} raw=${token.raw} tex=${token.tex} display=${token.display} />`;
    case "codespan":
      return html`<code>${token.text}</code>`;
    case "link":
      return link(token.href, inner(token.tokens, token.text), token.text);
    case "file":
      return picture(token, token.text);
    case "image":
      return link(token.href, `[image: ${token.text || token.href}]`, token.text);
    case "text":
      return token.tokens ? inner(token.tokens) : decoded(token.text);
    case "escape":
      return token.text;
    case "html":
      if (/^<br\s*\/?>$/i.test(token.raw)) return html`<br />`;
      return token.block ? html`<p dir="auto">${token.raw.trim()}</p>` : token.raw;
    default: // a token type of a later version
      return token.raw ?? "";
  }
}

/** Draws formulas; loaded with the first of them. @type {any} */
let draw = null;

/** A formula; its source is shown until it can be drawn, and if it cannot. @param {{raw: string, tex: string, display: boolean}} props */
function Formula({ raw, tex, display }) {
  const [, again] = useState(0);
  useEffect(() => {
    if (!draw) import("./formula.js").then((one) => ((draw = one.formula), again(1)), () => {});
  }, []);
  return draw?.(tex, display) ?? html`<code>${raw}</code>`;
}

/** @param {any} token */
function table(token) {
  /** @param {any} cell @param {number} n @param {string} tag */
  const one = (cell, n, tag) =>
    html`<${tag} data-align=${token.align[n] || undefined} scope=${tag === "th" ? "col" : undefined}>${inner(cell.tokens)}</${tag}>`;
  return html`<div class="scroll" dir="auto" tabindex="0" role="group" aria-label=${t("Table")}>
    <table class="data">
      <thead>
        <tr>
          ${token.header.map((/** @type {any} */ cell, /** @type {number} */ n) => one(cell, n, "th"))}
        </tr>
      </thead>
      <tbody>
        ${token.rows.map(
          (/** @type {any[]} */ row) =>
            html`<tr>${row.map((cell, n) => one(cell, n, "td"))}</tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}
