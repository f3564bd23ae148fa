/** Helpers without access to the page. @module */
import { lang, locale, once, t } from "./i18n.js";

/** @returns {string} a random UUID, also outside of secure contexts */
export function uuid() {
  if (globalThis.isSecureContext) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** Seconds by which the server's clock is ahead of this one. */
let ahead = 0;
/** Unix time in seconds, by the server's clock: it decides when something expires. */
export const now = () => Date.now() / 1000 + ahead;
/** @param {number} at the server's time now */
export const setNow = (at) => void (ahead = at ? at - Date.now() / 1000 : 0);

const decimals = once(() => new Intl.NumberFormat(lang, { minimumFractionDigits: 1, maximumFractionDigits: 1 }));
const tenths = (/** @type {number} */ value) => decimals().format(value);

/** Compare names so that `f2` comes before `f10`. @type {(a: string, b: string) => number} */
export const byName = (a, b) => order().compare(a, b);
const order = once(() => new Intl.Collator(lang, { numeric: true }));

/** @param {number} bytes */
export function size(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1e6) return `${Math.round(bytes / 1000)} kB`;
  return `${tenths(bytes / 1e6)} MB`;
}

/** @param {number|null|undefined} ms */
export function duration(ms) {
  if (ms == null) return "";
  if (ms < 0.1) return `< ${tenths(0.1)} ms`;
  if (ms < 10) return `${tenths(ms)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60000) return t("{n} s", { n: tenths(ms / 1000) });
  return t("{min} min {s} s", { min: Math.floor(ms / 60000), s: Math.floor((ms % 60000) / 1000) });
}

/** @type {Intl.DateTimeFormatOptions} */
const TIME = { hour: "2-digit", minute: "2-digit" };
const time = once(() => new Intl.DateTimeFormat(locale, TIME));
const dayAndTime = once(() => new Intl.DateTimeFormat(locale, { day: "numeric", month: "short", ...TIME }));
const dateAndTime = once(() => new Intl.DateTimeFormat(locale, { year: "numeric", day: "numeric", month: "short", ...TIME }));

/** @param {number} seconds Unix time */
export function clock(seconds) {
  const at = new Date(seconds * 1000);
  const today = new Date();
  if (at.toDateString() === today.toDateString()) return time().format(at);
  return (at.getFullYear() === today.getFullYear() ? dayAndTime : dateAndTime)().format(at);
}

/** @param {string} text @param {number} most */
export const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

/** Leave out the middle of a text that is too long. @param {string} text @param {number} most */
export function shortened(text, most) {
  if (text.length <= most) return text;
  const room = most - 26;
  const tail = Math.floor(room / 3);
  const left = t("[… {n} characters …]", { n: text.length - room });
  return `${text.slice(0, room - tail)}${left}${text.slice(text.length - tail)}`;
}

/**
 * Return an http, https or mailto URL, else null: a model must not link to paths of this server.
 * @param {string} href
 * @returns {string|null}
 */
export function outside(href) {
  try {
    const url = new URL(href);
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

/** @param {string} href a path of this server, or an external URL @returns {string} */
export const inside = (href) => /^[/?#](?![/\\])/.test(`${href} `) && !href.includes("\\") ? href : (outside(href) ?? "#");

/**
 * Summarize the arguments of a tool call in one line: the most informative one.
 * @param {unknown} args
 */
export function gist(args) {
  if (args == null || typeof args !== "object") return String(args ?? "");
  const order = ["command", "path", "file", "query", "pattern", "url", "task", "question", "name"];
  const known = /** @type {Record<string, unknown>} */ (args);
  const key = order.find((one) => typeof known[one] === "string") ?? Object.keys(known)[0];
  const value = key === undefined ? "" : known[key];
  return (typeof value === "string" ? value : (JSON.stringify(value) ?? "")).split("\n")[0];
}

/**
 * Return the lines of a difference, without the common start and end except for three lines each.
 * Large texts between them are shown as removed and added.
 * @param {string} before
 * @param {string} after
 * @returns {Array<{mark: "add"|"del"|"same"|"gap", text: string}>}
 */
export function difference(before, after) {
  const a = before === "" ? [] : before.replace(/\n$/, "").split("\n");
  const b = after === "" ? [] : after.replace(/\n$/, "").split("\n");
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  const most = Math.min(a.length, b.length) - start;
  while (end < most && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const lines = [];
  if (start > 3) lines.push({ mark: "gap", text: t("… from line {n}", { n: start - 2 }) });
  for (const text of a.slice(Math.max(0, start - 3), start)) lines.push({ mark: "same", text });
  lines.push(...between(a.slice(start, a.length - end), b.slice(start, b.length - end)));
  const tail = a.slice(a.length - end);
  for (const text of tail.slice(0, 3)) lines.push({ mark: "same", text });
  if (tail.length > 3) lines.push({ mark: "gap", text: "…" });
  return /** @type {any} */ (lines);
}

/**
 * Return the lines of a unified diff.
 * @param {string} text
 * @returns {Array<{mark: "add"|"del"|"same"|"gap", text: string}>}
 */
export function unified(text) {
  const marks = { "+": "add", "-": "del", " ": "same" };
  const lines = text.replace(/\n$/, "").split("\n");
  const body = lines.filter((line, n) => n > 1 || !/^(---|\+\+\+) /.test(line));
  return /** @type {any} */ (
    body.map((line) => {
      const mark = marks[/** @type {"+"} */ (line[0])];
      return mark ? { mark, text: line.slice(1) } : { mark: "gap", text: line };
    })
  );
}

/** @param {string[]} a @param {string[]} b */
function between(a, b) {
  const all = (/** @type {string} */ mark, /** @type {string[]} */ lines) => lines.map((text) => ({ mark, text }));
  if (a.length * b.length > 250000 || !a.length || !b.length) return [...all("del", a), ...all("add", b)];
  const width = b.length + 1;
  const common = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      const [same, below, right] = [common[(i + 1) * width + j + 1] + 1, common[(i + 1) * width + j], common[i * width + j + 1]];
      common[i * width + j] = a[i] === b[j] ? same : Math.max(below, right);
    }
  }
  const lines = [];
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) {
      lines.push({ mark: "same", text: a[i++] });
      j += 1;
    } else if (common[(i + 1) * width + j] >= common[i * width + j + 1]) {
      lines.push({ mark: "del", text: a[i++] });
    } else lines.push({ mark: "add", text: b[j++] });
  }
  return [...lines, ...all("del", a.slice(i)), ...all("add", b.slice(j))];
}
