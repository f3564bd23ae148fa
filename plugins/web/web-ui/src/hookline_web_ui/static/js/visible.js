/** Shows what is invisible or misleading in a text from outside, as `visible_text.py` does. @module */

const MARKS = "\\u0300-\\u036f\\u0483-\\u0489\\u0591-\\u05bd\\u1ab0-\\u1aff\\u1dc0-\\u1dff\\u20d0-\\u20ff";
const NO_GLYPH = "\\p{C}\\p{Z}\\p{Default_Ignorable_Code_Point}\\u2800";
const RESERVED_EMOJI = "\\u{1f000}-\\u{1faff}";
const HIDDEN = new RegExp(`(?![${RESERVED_EMOJI}])[${NO_GLYPH}]|(?<=[${MARKS}]{3})[${MARKS}]`, "gu");
const EMOJI = "\\p{Extended_Pictographic}";
const JOINED = "\\u0600-\\u06ff\\u0750-\\u077f\\u0900-\\u0dff";
const WIDE = "\\u2e80-\\u2fff\\u3001-\\u9fff\\uac00-\\ud7a3\\uff01-\\uff60";
/** What such a character has around it where it is ordinary. */
const ORDINARY = new RegExp(
  [
    `^[${EMOJI}\\p{Emoji_Modifier}\\ufe0f]\\u200d${EMOJI}`,
    `^[${JOINED}][\\u200c\\u200d][${JOINED}]`,
    `^${EMOJI}\\ufe0f`,
    "^[0-9#*]\\ufe0f\\u20e3",
    `^[${WIDE}]\\u3000[${WIDE}]`,
  ].join("|"),
  "u",
);

/** Letters that look like Latin ones. */
const LOOKALIKES =
  "аеорсухіїјѕԁԛԝѡһӏԍүѵмнтгкАВЕКМНОРСТУХЅІЈҮԌԜԚҺαοργνικυχτηωϲϳΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹͿօոսցգհյզԼՍՏՕᎪᏴᏟᎠᎬᏀᎻᎥᎫᏦᏞᎷᏢᏒᏚᎢᏙᎳᏃⲟⲥⲣⲭⲁⲓⲏꓐꓑꓒꓓꓔꓖꓗꓙꓚꓜꓝꓡꓢꓣꓤꓦꓧꓨꓪꓫꓬꓮꓰꓲꓳꓴɑɡɩƅᴄᴏᴠᴡᴢꜱⅰⅴⅹⅼⅽⅾⅿⅠⅤⅩⅬⅭⅮⅯℂℊℋℎℐℒℓℕℙℚℛℜℝℤℬℭℯℰℱℳℴ" +
  "\uff21-\uff3a\uff41-\uff5a\u{1d400}-\u{1d7ff}";
const TOKEN = /[\p{L}\p{N}_./:@\u2044\u2215\u2024\u29f8\uff0e\uff0f]+/gu;
const PASSES = new RegExp(`^[A-Za-z\\xc0-\\xd6\\xd8-\\xf6\\xf8-\\u0130\\u0132-\\u024f\\u1e00-\\u1eff${LOOKALIKES}]+$`, "u");
const LOOKALIKE = new RegExp(`[${LOOKALIKES}]`, "gu");
const LOOKALIKE_MARK = /(?<=[A-Za-z0-9])[\u2044\u2215\u2024\u29f8\uff0e\uff0f](?=[A-Za-z0-9])/g;

/** @param {string} text @returns {Array<[number, string]>} offset and character, in order */
function misleading(text) {
  /** @type {Map<number, string>} */
  const found = new Map();
  for (const { 0: character, index } of text.matchAll(HIDDEN)) {
    if (character === "\n" || character === "\t" || character === " ") continue;
    const before = [...text.slice(Math.max(0, index - 2), index)].at(-1) ?? "";
    const after = String.fromCodePoint(text.codePointAt(index + character.length) ?? 32);
    if (!ORDINARY.test(before + character + after)) found.set(index, character);
  }
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (/^[\0-\x7f]*$/.test(token) || !/[a-z]/i.test(token)) continue;
    for (const { 0: word, index: at } of token.matchAll(/[\p{L}\p{Nl}]+/gu)) {
      if (!PASSES.test(word)) continue;
      for (const letter of word.matchAll(LOOKALIKE)) found.set(index + at + letter.index, letter[0]);
    }
    for (const mark of token.matchAll(LOOKALIKE_MARK)) found.set(index + mark.index, mark[0]);
  }
  return [...found].sort(([a], [b]) => a - b);
}

/**
 * Split a text into what is shown as it is and single characters, which become `U+XXXX`.
 * @param {string} text
 * @returns {Array<{text: string, hidden: boolean}>}
 */
export function pieces(text) {
  if (/^[\t\n\x20-\x7e]*$/.test(text)) return text ? [{ text, hidden: false }] : [];
  const shown = [];
  let end = 0;
  for (const [at, character] of misleading(text)) {
    if (at > end) shown.push({ text: text.slice(end, at), hidden: false });
    shown.push({ text: `U+${code(character)}`, hidden: true });
    end = at + character.length;
  }
  if (end < text.length) shown.push({ text: text.slice(end), hidden: false });
  return shown;
}

/** @param {string} character */
const code = (character) => (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");

/** Where only text can be shown, such as in a window's title. @param {string} text */
export const spelled = (text) =>
  pieces(text).map((piece) => (piece.hidden ? `[${piece.text}]` : piece.text)).join("");

/** For answers: only what reorders text. @param {string} text */
export const prose = (text) =>
  text.replace(/[\0-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g, (one) => `[U+${code(one)}]`);

/** An address in the text of a link. */
const ADDRESS = /^\s*(?:[a-z][a-z+.-]*:\/*)?(?:[^\s/@]*@)?((?:[\p{L}\p{N}-]+\.)+\p{L}{2,})(?=[/:?#\s]|$)/iu;

/**
 * Return the host to which a link leads if its text names another one, else "".
 * @param {string} text @param {string} href
 */
export function otherHost(text, href) {
  const target = new URL(href);
  const host = target.hostname || target.pathname.split("@").at(-1) || "";
  const named = ADDRESS.exec(text)?.[1].toLowerCase().replace(/^www\./, "");
  if (!named || target.pathname.includes(text.trim())) return "";
  return host === named || host.endsWith(`.${named}`) || host === `www.${named}` ? "" : host;
}
