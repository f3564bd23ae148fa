/**
 * Translates the sentences of the page. The English sentence, a literal in double quotes, is the key
 * of its translations, which are loaded before anything is drawn. @module
 */

/** @type {DOMStringMap & {messages?: string}} */
const given = globalThis.document?.documentElement.dataset ?? {};
/** The language of the page, such as `de`. */
export const lang = globalThis.document?.documentElement.lang || "en";
const wanted = (globalThis.navigator?.languages ?? []).find((one) => one.split("-")[0] === lang.split("-")[0]);
/** For dates and times: the language, with the region that the browser names. */
export const locale = wanted ?? lang;
/**
 * Make a value when it is first needed, and once: the browser's formatters are slow to make.
 * @template T @param {() => T} make @returns {() => T}
 */
export function once(make) {
  /** @type {T|undefined} */
  let made;
  return () => (made ??= make());
}
const numbers = once(() => new Intl.NumberFormat(lang, { maximumFractionDigits: 2 }));
/** @type {{messages: Record<string, string|string[]>, plurals: number[]}} */
const catalogue = given.messages
  ? await fetch(given.messages).then((response) => response.json()).catch(() => ({ messages: {}, plurals: [] }))
  : { messages: {}, plurals: [] };

/** @param {number} value */
export const number = (value) => numbers().format(value);

/** @param {any} value */
const shown = (value) => (typeof value === "number" ? number(value) : value);

/**
 * Translate a sentence, and fill in `{name}`.
 * @param {string} sentence @param {Record<string, string|number>} [values] numbers are formatted
 */
export const t = (sentence, values) => tx(sentence, values).join("");

/**
 * The same in pieces, for values that are elements.
 * @param {string} sentence @param {Record<string, any>} [values] @returns {any[]}
 */
export const tx = (sentence, values) => fill(`${catalogue.messages[sentence] ?? sentence}`, values);

/**
 * Translate a sentence that depends on the number `{n}`.
 * @param {string} one @param {string} many @param {number} n @param {Record<string, string|number>} [values]
 */
export function tn(one, many, n, values) {
  const forms = catalogue.messages[one];
  const { plurals } = catalogue;
  const form = plurals[n] ?? plurals[100 + (n % 100)] ?? 0;
  const text = forms ? [forms].flat()[form] : n === 1 ? one : many;
  return fill(text, { n, ...values }).join("");
}

/** Mark a constant for translation; pass it to {@link t} where it is used. @param {string} sentence */
export const N_ = (sentence) => sentence;

/** @param {string} text @param {Record<string, any>} [values] */
const fill = (text, values) =>
  values ? text.split(/\{(\w+)\}/).map((piece, n) => (n % 2 ? shown(values[piece]) : piece)) : [text];
