/**
 * Renders Markdown as elements: an allow-list of the tokens of marked's lexer. Raw HTML stays text,
 * and images are not loaded. While text is streamed, only its last block is lexed again. Long text
 * is rendered in pieces, so that the page stays responsive. @module
 */
import { Lexer, html } from "../vendor/preact.js";
import { outside } from "./util.js";
import { otherHost, prose } from "./visible.js";

/** Streamed Markdown: complete blocks, and the last one, which may still change. */
export class StreamedMarkdown {
  constructor() {
    /** The text drawn so far. */
    this.text = "";
    this.done = false;
    /** The offset of the last block. */
    this.open = 0;
    /** @type {any} link definitions, known once the text is complete */
    this.links = null;
    /** Elements with {@link LOT} complete blocks each, which are laid out independently. @type {any[]} */
    this.lots = [];
    /** @type {any[]} */
    this.whole = [];
    /** @type {any[]} */
    this.last = [];
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
      drawn = 0;
    }
    if (done && !this.done) {
      const links = text.match(DEFINED);
      if (links) this.restart(new Lexer().lex(links.join("\n\n")).links);
    }
    this.done = done;
    // The open block is lexed again each time, so a larger one is updated less often.
    let end = drawn + Math.max(room, (drawn - this.open) / 2);
    if (end < text.length) end = Math.max(text.lastIndexOf("\n", end) + 1, drawn + 1, end - room / 2);
    this.text = text.slice(0, end);
    let tokens = lex(this.text.slice(this.open), false, this.links);
    if (tokens.length === 1 && tokens[0].type === "paragraph") {
      const begun = this.open;
      for (let cut; (cut = seam(this.text, this.open)); this.open = cut) {
        this.keep(lex(this.text.slice(this.open, cut), false, this.links).map(vnode));
      }
      if (this.open > begun) tokens = lex(this.text.slice(this.open), false, this.links);
    }
    const settled = tokens.findLastIndex((token) => token.type !== "space");
    for (const token of tokens.slice(0, Math.max(settled, 0))) {
      this.open += token.raw.length;
      if (token.type === "space") continue;
      this.keep(vnode(token));
    }
    this.last = tokens.slice(Math.max(settled, 0)).map(vnode);
    return this;
  }

  /** @param {any} [links] */
  restart(links = null) {
    this.open = 0;
    this.lots = [];
    this.whole = [];
    this.links = links;
  }

  /** @param {any} block a complete block */
  keep(block) {
    if (this.whole.length === LOT) {
      this.lots.push(this.lot(this.whole));
      this.whole = [];
    }
    this.whole.push(block);
  }

  /** @param {any[]} blocks */
  lot(blocks) {
    return html`<div class="lot" key=${this.lots.length}>${blocks}</div>`;
  }

  /** The elements to draw; those of complete blocks are the same objects each time. */
  get nodes() {
    return [...this.lots, this.lot([...this.whole, ...this.last])];
  }
}

const LOT = 12;
/** A paragraph of more than twice as many characters is drawn in pieces. */
const PIECE_CHARS = 6000;

/**
 * Return where to cut a very long paragraph that begins at `open`: before a word outside of code,
 * emphasis and links. Return 0 if it is short or cannot be cut.
 * @param {string} text @param {number} open
 */
function seam(text, open) {
  if (text.length - open < 2 * PIECE_CHARS) return 0;
  for (let at = open + PIECE_CHARS; at > open + PIECE_CHARS / 2; at -= 40) {
    const cut = text.lastIndexOf(" ", at) + 1;
    const piece = text.slice(open, cut);
    const pairs = ["`", "*", "_", "~", "["].every((mark) => piece.split(mark === "[" ? /[[\]]/ : mark).length % 2);
    if (pairs && /\p{L}/u.test(text[cut])) return cut;
  }
  return 0;
}
const DEFINED = /^ {0,3}\[[^\]\n]+\]:.*$/gm;

/** Formulas are shown as written, because Markdown would interpret their characters. */
const FORMULA = /^(?:\$\$[^]+?\$\$|\\\([^]+?\\\)|\\\[[^]+?\\\]|\$(?![\s\d])[^$\n]*?[^\s$\\]\$(?!\w))/;
const formula = (/** @type {string} */ text) => {
  const [raw] = FORMULA.exec(text) ?? [];
  return raw && { type: "codespan", raw, text: raw };
};
const block = (/** @type {string} */ text) => {
  const made = /^(\$\$|\\\[)/.test(text) && formula(text);
  return made ? { type: "paragraph", raw: made.raw, tokens: [made] } : undefined;
};
const MATH = /** @type {any} */ ({
  ...{ inline: [formula], startInline: [(/** @type {string} */ text) => text.search(/\$|\\[([]/)] },
  ...{ block: [block], startBlock: [(/** @type {string} */ text) => text.search(/^(\$\$|\\\[)/m)] },
});

/** @param {string} text @param {boolean} [breaks] whether to keep line breaks @param {any} [links] */
function lex(text, breaks = false, links = null) {
  try {
    const lexer = new Lexer({ gfm: true, breaks, extensions: /\$|\\[([]/.test(text) ? MATH : undefined });
    Object.assign(lexer.tokens.links, links);
    return lexer.lex(text);
  } catch {
    return [{ type: "text", raw: text, text }];
  }
}

/** @param {string} text @param {boolean} [breaks] whether to keep line breaks */
export const markdown = (text, breaks = false) =>
  lex(prose(text.replace(/\r\n?/g, "\n")), breaks).map(vnode);

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

/** @param {any} token @returns {any} */
function vnode(token) {
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading": {
      const tag = `h${Math.min(token.depth + 2, 6)}`;
      return html`<${tag} data-depth=${token.depth}>${inner(token.tokens)}</${tag}>`;
    }
    case "paragraph":
      return html`<p>${inner(token.tokens)}</p>`;
    case "code":
      return html`<${CodeBlock} text=${token.text} language=${(token.lang ?? "").split(/\s/)[0]} />`;
    case "list": {
      const [tag, start] = token.ordered ? ["ol", token.start] : ["ul"];
      return html`<${tag} dir="auto" start=${start === 1 ? undefined : start}>${token.items.map(vnode)}</${tag}>`;
    }
    case "list_item":
      return html`<li>${inner(token.tokens)}</li>`;
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
    case "blockquote":
      return html`<${token.type}>${inner(token.tokens)}</${token.type}>`;
    case "codespan":
      return html`<code>${token.text}</code>`;
    case "link":
      return link(token.href, inner(token.tokens, token.text), token.text);
    case "image":
      return link(token.href, `[image: ${token.text || token.href}]`, token.text);
    case "text":
      return token.tokens ? inner(token.tokens) : decoded(token.text);
    case "escape":
      return token.text;
    case "html":
      return token.block ? html`<p>${token.raw.trim()}</p>` : token.raw;
    default: // a token type of a later version
      return token.raw ?? "";
  }
}

/** @param {any} token */
function table(token) {
  /** @param {any} cell @param {number} n @param {string} tag */
  const one = (cell, n, tag) =>
    html`<${tag} data-align=${token.align[n] || undefined} scope=${tag === "th" ? "col" : undefined}>
      ${inner(cell.tokens)}
    </${tag}>`;
  return html`<div class="scroll" tabindex="0" role="group" aria-label="Table">
    <table class="data">
      <thead>
        <tr>
          ${token.header.map((/** @type {any} */ cell, /** @type {number} */ n) => one(cell, n, "th"))}
        </tr>
      </thead>
      <tbody>
        ${token.rows.map(
          (/** @type {any[]} */ row) =>
            html`<tr>
              ${row.map((cell, n) => one(cell, n, "td"))}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

const CHUNK = 4000;

/**
 * A block of code with a copy button. Long code has several text nodes, so that only the last one
 * changes while it is streamed.
 * @param {{text: string, language?: string}} props
 */
export function CodeBlock({ text, language }) {
  const chunks = [];
  for (let at = 0; at < text.length; at += CHUNK) {
    chunks.push(html`<span>${text.slice(at, at + CHUNK)}</span>`);
  }
  return html`<div class="code">
    <div class="head">
      <span>${language || "text"}</span>
      <button type="button" class="plain" onClick=${(/** @type {any} */ e) => copy(e, text)}>
        Copy
      </button>
    </div>
    <pre tabindex="0"><code>${chunks}</code></pre>
  </div>`;
}

/** @param {{currentTarget: HTMLElement}} event @param {string} text */
export async function copy(event, text) {
  const button = event.currentTarget;
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Failed";
  }
  setTimeout(() => (button.textContent = before), 1500);
}
