/** Shared by all pages: theme, recent chats, dialogs and keyboard shortcuts. @module */
import { call } from "./api.js";
import { clock } from "./util.js";
import { spelled } from "./visible.js";

/**
 * @param {string} tag
 * @param {Record<string, any>} [attributes] a function is a listener
 * @param {...(Node|string)} children
 * @returns {HTMLElement}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value != null) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/** @param {string} path */
export const go = (path) => location.assign(path);

const CLOSING = { method: "dialog", class: "actions" };

/** Show a dialog. @param {string} label @param {...Node} children */
export function modal(label, ...children) {
  const about = { class: "dialog", "aria-label": label };
  const dialog = /** @type {HTMLDialogElement} */ (element("dialog", about, ...children));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/**
 * Ask for confirmation.
 * @param {string} text
 * @param {string} label of the confirming button
 * @returns {Promise<boolean>}
 */
export function confirmed(text, label) {
  const cancel = element("button", { value: "", autofocus: true }, "Cancel");
  const yes = element("button", { value: "yes", class: "primary" }, label);
  const dialog = modal(label, element("p", {}, text), element("form", CLOSING, cancel, yes));
  return new Promise((resolve) => dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes")));
}

/** Switch between system, light and dark; the cookie lasts a year. */
export function nextTheme() {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = root.dataset.theme || "";
  const next = now === "" ? (dark ? "light" : "dark") : "";
  if (next) root.dataset.theme = next;
  else delete root.dataset.theme;
  const age = next ? 31536000 : 0;
  document.cookie = `hookline-theme=${next}; path=/; max-age=${age}; samesite=strict`;
  labelThemeButtons();
}

function labelThemeButtons() {
  const name = `Theme: ${document.documentElement.dataset.theme || "system"}`;
  for (const button of document.querySelectorAll("[data-theme-switch]")) {
    button.setAttribute("aria-label", name);
    button.setAttribute("title", name);
  }
}

/** @typedef {{keys: string, does: string, run: () => void}} Shortcut */

/** @type {Shortcut[]} */
const shortcuts = [
  { keys: "?", does: "Show keyboard shortcuts", run: showShortcuts },
  { keys: "n", does: "New chat", run: () => go("/") },
  { keys: "g", does: "Go to navigation", run: focusNavigation },
  { keys: "t", does: "Change theme", run: nextTheme },
];
const SINGLE_KEYS = "hookline-single-keys";

function focusNavigation() {
  const side = document.getElementById("side");
  if (side?.matches("[popover]") && getComputedStyle(side).display === "none") side.showPopover();
  /** @type {HTMLElement|null|undefined} */ (side?.querySelector(".nav-main a"))?.focus();
}

function showShortcuts() {
  if (document.querySelector("dialog[open]")) return;
  const rows = shortcuts.map(({ keys, does }) =>
    element("div", {}, element("dt", {}, element("kbd", {}, keys)), element("dd", {}, does)),
  );
  const single = /** @type {HTMLInputElement} */ (element("input", { type: "checkbox", id: "single-keys" }));
  single.checked = localStorage.getItem(SINGLE_KEYS) !== "off";
  single.addEventListener("change", () => localStorage.setItem(SINGLE_KEYS, single.checked ? "on" : "off"));
  const label = element("label", { for: "single-keys" }, "Enable single-key shortcuts");
  modal(
    "Keyboard shortcuts",
    element("h2", {}, "Keyboard shortcuts"),
    element("dl", { class: "keys" }, ...rows),
    element("p", { class: "field switch" }, single, label),
    element("form", CLOSING, element("button", { autofocus: true, class: "primary" }, "Close")),
  );
}

/** @param {Shortcut[]} more */
export const addShortcuts = (more) => shortcuts.push(...more);

/** @param {KeyboardEvent} event */
function pressed(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.defaultPrevented || event.isComposing || document.querySelector("dialog[open], :popover-open")) return;
  const ctrl = event.ctrlKey || event.metaKey;
  if (!ctrl && (event.altKey || target.closest("input, textarea, select, [contenteditable]"))) return;
  if (!ctrl && event.key.length === 1 && localStorage.getItem(SINGLE_KEYS) === "off") {
    if (event.key !== "?") return;
  }
  const name = ctrl ? `Ctrl ${event.key.toUpperCase()}` : event.key;
  const found = shortcuts.find((one) => one.keys === name);
  if (!found) return;
  event.preventDefault();
  found.run();
}

/** @type {Map<string, any>} */
const sessions = new Map();
let current = "";
let more = false;

/** @param {any} session @param {{deleted?: boolean}} [how] */
export function putRecent(session, how = {}) {
  if (how.deleted) sessions.delete(session.id);
  else sessions.set(session.id, { ...sessions.get(session.id), ...session });
  drawRecent();
}

/** @param {string} id @param {any} change only if the session is known */
export function changeRecent(id, change) {
  if (sessions.has(id)) putRecent({ id, ...change });
  return sessions.has(id);
}

/** @param {string} id */
export function setCurrent(id) {
  current = id;
  drawRecent();
}

/** Read the newest chats. */
export async function loadRecent() {
  try {
    const page = await call("GET", "/api/sessions?limit=40&kind=chat");
    sessions.clear();
    for (const one of page.sessions) sessions.set(one.id, one);
    more = page.next != null;
    drawRecent();
    document.querySelector("[data-recent] [aria-current]")?.scrollIntoView({ block: "nearest" });
  } catch {
    // The list is optional; the page itself reports errors.
  }
}

/** @param {any} session */
export const titleOf = (session) => spelled(session?.title || session?.first_words || "New chat");

/** The person who is signed in, such as `web:owner`. */
export const person = () => document.querySelector(".side .foot [title]")?.getAttribute("title");

/** The owner of a chat: another person or a channel; empty for one's own chats. @param {any} session */
export function owner({ channel, chat }) {
  return `${channel}:${chat}` === person() ? "" : channel === "web" ? chat : channel;
}

function drawRecent() {
  const list = document.querySelector("[data-recent] ul");
  if (!list) return;
  const newest = [...sessions.values()].sort((a, b) => (b.updated ?? 0) - (a.updated ?? 0));
  const rows = newest.slice(0, 40).map((one) => {
    const mark = one.question ? "asks" : one.state === "running" ? "runs" : "";
    const dot = mark
      ? [
          element("span", { class: `dot ${mark}`, "aria-hidden": "true" }),
          element("span", { class: "unseen" }, mark === "asks" ? " (waiting for your answer)" : " (working)"),
        ]
      : [];
    const whose = owner(one);
    const about = [titleOf(one), whose, one.updated && clock(one.updated)].filter(Boolean).join(" · ");
    const current_ = one.id === current ? "page" : null;
    const link = { href: `/chat/${encodeURIComponent(one.id)}`, title: about, "aria-current": current_ };
    const label = whose ? [" ", element("span", { class: "whose" }, whose)] : [];
    return element("li", {}, element("a", link, element("span", { dir: "auto" }, titleOf(one)), ...label, ...dot));
  });
  if (more) rows.push(element("li", {}, element("a", { href: "/sessions" }, element("span", {}, "All chats"))));
  const hint = element("li", { class: "quiet small hint" }, "Your chats appear here.");
  const at = list.contains(document.activeElement) && document.activeElement?.getAttribute("href");
  list.replaceChildren(...(rows.length ? rows : [hint]));
  if (at) /** @type {HTMLElement|null} */ (list.querySelector(`a[href="${at}"]`))?.focus({ preventScroll: true });
}

/** Set up the frame of a page. */
export function begin() {
  const recent = document.querySelector(".side .recent"); // on a phone it is last, also in the tab order
  if (recent && matchMedia("(max-width: 52rem)").matches) document.querySelector(".nav-main")?.after(recent);
  labelThemeButtons();
  addEventListener("keydown", pressed);
  document.addEventListener("click", (event) => {
    const target = /** @type {Element} */ (event.target);
    if (target.closest("[data-theme-switch]")) nextTheme();
    if (target.closest("[data-keys]")) showShortcuts();
    if (target.closest("[data-notifications]")) import("./push.js").then((one) => one.showNotifications());
  });
  loadRecent();
}
