/** What the page adds to marked's Markdown: formulas, footnotes, folded parts, the chat's images. @module */
import { t } from "./i18n.js";

/** Formulas, in which Markdown would interpret characters otherwise. */
const FORMULA = /^(?:\$\$[^]+?\$\$|\\\([^]+?\\\)|\\\[[^]+?\\\]|\$(?![\s\d])[^$\n]*?[^\s$\\]\$(?!\w))/;
const formula = (/** @type {string} */ text) => {
  const [raw] = FORMULA.exec(text) ?? [];
  if (!raw) return undefined;
  const edge = raw.startsWith("$") && !raw.startsWith("$$") ? 1 : 2;
  return { type: "formula", raw, tex: raw.slice(edge, -edge), display: /^(\$\$|\\\[)/.test(raw) };
};
const formulaBlock = (/** @type {string} */ text) => {
  const made = /^(\$\$|\\\[)/.test(text) && formula(text);
  return made ? { type: "paragraph", raw: made.raw, tokens: [made] } : undefined;
};

const NOTE = /^ {0,3}\[\^([^\]\s]{1,60})\]:[ \t]*(.*(?:\n(?! {0,3}\[\^[^\]\s]+\]:)\S.*|\n+(?: {2,}|\t).*)*)/;
const NOTES = new RegExp(NOTE.source, "gm");
const FENCED = /^ {0,3}(`{3,}|~{3,})[^]*?(?:^ {0,3}\1|(?![^]))/gm;

/** The footnotes of a text, numbered in the order in which the text refers to them. */
export class Footnotes {
  /** @param {string} text a complete text */
  constructor(text) {
    /** @type {Map<string, string>} */
    this.texts = new Map();
    /** @type {Map<string, number>} */
    this.numbers = new Map();
    if (!/^ {0,3}\[\^/m.test(text)) return;
    for (const [, id, note] of text.replace(FENCED, "").matchAll(NOTES)) {
      if (!this.texts.has(id)) this.texts.set(id, note.replace(/^(?: {2,4}|\t)/gm, ""));
    }
  }

  /** @param {string} id */
  number(id) {
    const known = this.numbers.get(id) ?? this.numbers.size + 1;
    this.numbers.set(id, known);
    return known;
  }

  /** The notes in their order; those that the text does not refer to are the last. */
  get all() {
    for (const id of this.texts.keys()) this.number(id);
    return [...this.numbers].map(([id, number]) => ({ number, text: this.texts.get(id) ?? "" }));
  }
}

/** @param {Footnotes} notes */
const reference = (notes) => (/** @type {string} */ text) => {
  const [raw, id] = /^\[\^([^\]\s]{1,60})\](?!:)/.exec(text) ?? [];
  return raw && id && notes.texts.has(id) ? { type: "reference", raw, number: notes.number(id) } : undefined;
};
const definition = (/** @type {string} */ text) => {
  const [raw] = NOTE.exec(text) ?? [];
  return raw && { type: "def", raw, tag: "", href: "" };
};

const DETAILS = /^ {0,3}<details(\s+open(?:="")?)?\s*>\s*(?:<summary>([^]*?)<\/summary>)?/i;
const DETAILS_TAG = /(`{3,}|~{3,})[^]*?(?:\1|(?![^]))|<(\/?)details\b[^>]*>/gi;

/** A folded part; while it is streamed, it lasts to the end. @this {{lexer: any}} @param {string} text */
function details(text) {
  const begin = DETAILS.exec(text);
  if (!begin) return undefined;
  let [depth, end, after] = [1, text.length, text.length];
  for (const tag of text.slice(begin[0].length).matchAll(DETAILS_TAG)) {
    if (tag[1]) continue; // code
    depth += tag[2] ? -1 : 1;
    if (depth) continue;
    end = begin[0].length + tag.index;
    after = end + tag[0].length;
    break;
  }
  const title = (begin[2] ?? "").replace(/<\/?(?:b|strong|i|em|code)>/gi, "").trim();
  return {
    ...{ type: "details", raw: text.slice(0, after), open: Boolean(begin[1]) },
    summary: this.lexer.inline(title || t("Details"), []),
    tokens: this.lexer.blockTokens(text.slice(begin[0].length, end).trim(), []),
  };
}

/**
 * The image to which an address leads: by the path of the page's file, or by its name.
 * @param {any[]} files @param {string} address
 */
function named(files, address) {
  if (/^(?:[a-z][a-z+.-]*:|\/\/|\\)/i.test(address)) return undefined;
  const isImage = (/** @type {any} */ file) => file.kind === "image" || file.mime?.startsWith("image/");
  let name = address.split(/[?#]/)[0].split("/").at(-1) ?? "";
  try {
    name = decodeURIComponent(name);
  } catch {
    // it is no escape
  }
  const byId = address.startsWith("/api/files/");
  return files.findLast((file) => isImage(file) && (byId ? file.id : file.name) === name);
}

/** @param {any[]} files @param {Set<string>} shown the ids of files that are shown */
const ownImage = (files, shown) => (/** @type {string} */ text) => {
  const [raw, label, address] = /^!\[([^\]]*)\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/.exec(text) ?? [];
  const file = address && named(files, address);
  if (!file) return undefined;
  shown.add(file.id);
  return { type: "file", raw, file: file.id, text: label || file.caption || file.name };
};

/**
 * @typedef {object} Known what is known of a text as a whole
 * @property {any} [links] link definitions
 * @property {Footnotes|null} [notes]
 * @property {any[]} [images] the files of the chat
 * @property {Set<string>} [shown] the ids of those that the text shows
 */

/** Return the extensions of marked's lexer for a text. @param {string} text @param {Known} known @returns {any} */
export function extensions(text, { notes, images, shown = new Set() }) {
  const made = { inline: [], startInline: [], block: [], startBlock: [] };
  const { inline, startInline, block, startBlock } = /** @type {Record<string, any[]>} */ (made);
  if (/<details/i.test(text)) block.push(details);
  if (notes?.texts.size) {
    inline.push(reference(notes));
    block.push(definition);
    startBlock.push((/** @type {string} */ rest) => rest.search(/^ {0,3}\[\^[^\]\s]+\]:/m));
  }
  if (images?.length) inline.push(ownImage(images, shown));
  if (/\$|\\[([]/.test(text)) {
    inline.push(formula);
    startInline.push((/** @type {string} */ rest) => rest.search(/\$|\\[([]/));
    block.push(formulaBlock);
    startBlock.push((/** @type {string} */ rest) => rest.search(/^(\$\$|\\\[)/m));
  }
  return made;
}
