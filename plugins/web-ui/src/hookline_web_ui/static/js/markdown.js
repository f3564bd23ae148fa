/**
 * Markdown as elements: tokens of marked's lexer, each by an allow-list. Raw HTML stays text, and
 * no image is loaded. While a text grows, only its last block is lexed again. @module
 */
import { Lexer, html } from "../vendor/preact.js";
import { outside } from "./util.js";

/** Blocks that are whole together with the one that may still change. */
export class Growing {
  constructor() {
    this.text = "";
    /** Where the last block begins. */
    this.open = 0;
    /** @type {any[]} */
    this.whole = [];
    /** @type {any[]} */
    this.last = [];
  }

  /**
   * @param {string} text the whole text; what continues the last one is cheap
   * @param {boolean} done whether nothing will follow
   */
  set(text, done = false) {
    if (!text.startsWith(this.text) || (done && /^ {0,3}\[[^\]\n]+\]:/m.test(text))) {
      this.open = 0; // another text, or one whose links are defined at its end
      this.whole = [];
    }
    this.text = text;
    const tokens = lex(text.slice(this.open));
    const settled = tokens.findLastIndex((token) => token.type !== "space");
    for (const token of tokens.slice(0, Math.max(settled, 0))) {
      this.open += token.raw.length;
      if (token.type !== "space") this.whole.push(vnode(token));
    }
    this.last = tokens.slice(Math.max(settled, 0)).map(vnode);
    return this;
  }

  /** What to draw; blocks that are whole are the same objects each time. */
  get nodes() {
    return [...this.whole, ...this.last];
  }
}

/** @param {string} text @param {boolean} [breaks] whether an end of line is one */
function lex(text, breaks = false) {
  try {
    return new Lexer({ gfm: true, breaks }).lex(text);
  } catch {
    return [{ type: "text", raw: text, text }];
  }
}

/** @param {string} text @param {boolean} [breaks] whether an end of line is one */
export const markdown = (text, breaks = false) =>
  lex(text.replace(/\r\n?/g, "\n"), breaks).map(vnode);

/** @param {any[]|undefined} tokens @param {string} [text] */
const inner = (tokens, text = "") => (tokens ? tokens.map(vnode) : decoded(text));

const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', nbsp: "\u00a0", copy: "©", hellip: "…" };

/** @param {string} text */
function decoded(text) {
  return text.replace(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|(\w+));/g, (all, ten, hex, name) => {
    const code = ten ? Number(ten) : hex ? parseInt(hex, 16) : 0;
    if (code > 0 && code < 0x110000) return String.fromCodePoint(code);
    return Object.hasOwn(ENTITIES, name ?? "") ? ENTITIES[/** @type {"amp"} */ (name)] : all;
  });
}

/** @param {string} href @param {any} content */
function link(href, content) {
  const safe = outside(href);
  if (!safe) return content;
  return html`<a href=${safe} target="_blank" rel="noopener noreferrer nofollow">${content}</a>`;
}

/** @param {any} token @returns {any} */
function vnode(token) {
  switch (token.type) {
    case "space":
      return null;
    case "heading": {
      const tag = `h${Math.min(token.depth + 2, 6)}`;
      return html`<${tag} data-depth=${token.depth}>${inner(token.tokens)}</${tag}>`;
    }
    case "paragraph":
      return html`<p>${inner(token.tokens)}</p>`;
    case "code":
      return html`<${CodeBlock} text=${token.text} language=${(token.lang ?? "").split(/\s/)[0]} />`;
    case "blockquote":
      return html`<blockquote>${inner(token.tokens)}</blockquote>`;
    case "list":
      return token.ordered
        ? html`<ol start=${token.start === 1 ? undefined : token.start}>
            ${token.items.map(vnode)}
          </ol>`
        : html`<ul>
            ${token.items.map(vnode)}
          </ul>`;
    case "list_item":
      return html`<li>${inner(token.tokens)}</li>`;
    case "checkbox":
      return html`<input type="checkbox" disabled checked=${token.checked} aria-label="done" /> `;
    case "table":
      return table(token);
    case "hr":
      return html`<hr />`;
    case "br":
      return html`<br />`;
    case "strong":
      return html`<strong>${inner(token.tokens)}</strong>`;
    case "em":
      return html`<em>${inner(token.tokens)}</em>`;
    case "del":
      return html`<del>${inner(token.tokens)}</del>`;
    case "codespan":
      return html`<code>${token.text}</code>`;
    case "link":
      return link(token.href, inner(token.tokens, token.text));
    case "image":
      return link(token.href, `[image: ${token.text || token.href}]`);
    case "text":
      return token.tokens ? inner(token.tokens) : decoded(token.text);
    case "escape":
      return token.text;
    case "def":
      return null;
    case "html":
      return token.block ? html`<p>${token.raw.trim()}</p>` : token.raw;
    default: // whatever a later version may call by another name
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
 * A block of code with a button that copies it. A long one is cut into several text nodes, so that
 * only the last of them changes while it grows.
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
    button.textContent = "Not allowed";
  }
  setTimeout(() => (button.textContent = before), 1500);
}
