/** Shared by all pages: theme, recent chats, dialogs and keyboard shortcuts. @module */
import { call } from "./api.js";
import { N_, lang, once, t } from "./i18n.js";
import { byName, clock } from "./util.js";
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

/** Leave a chat that was deleted, but not while a dialog may be deleting more. */
export function leave() {
  const dialog = document.querySelector("dialog[open]");
  dialog ? dialog.addEventListener("close", leave, { once: true }) : go("/");
}

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
 * @param {"primary"|"danger"} style its style
 * @returns {Promise<boolean>}
 */
export function confirmed(text, label, style = "primary") {
  const cancel = element("button", { value: "", autofocus: true }, t("Cancel"));
  const yes = element("button", { value: "yes", class: style }, label);
  const dialog = modal(label, element("p", {}, text), element("form", CLOSING, cancel, yes));
  return new Promise((resolve) => dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes")));
}

/** Switch between system, light and dark, in all of the person's browsers. */
export function nextTheme() {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = root.dataset.theme || "";
  const next = now === "" ? (dark ? "light" : "dark") : "";
  if (next) root.dataset.theme = next;
  else delete root.dataset.theme;
  rememberTheme();
  labelThemeButtons();
  call("PATCH", "/api/me", { theme: next || "system" }).catch(() => {}); // this page has it anyway
}

/** Keep the theme in a cookie, for the page that signs in; it lasts a year. */
function rememberTheme() {
  const theme = document.documentElement.dataset.theme ?? "";
  document.cookie = `hookline-theme=${theme}; path=/; max-age=${theme ? 31536000 : 0}; samesite=strict`;
}

function labelThemeButtons() {
  const chosen = document.documentElement.dataset.theme;
  const name = chosen === "dark" ? t("Theme: dark") : chosen === "light" ? t("Theme: light") : t("Theme: system");
  for (const button of document.querySelectorAll("[data-theme-switch]")) {
    button.setAttribute("aria-label", name);
    button.setAttribute("title", name);
  }
}

/** @typedef {{keys: string, does: string, run: () => void}} Shortcut */

/** @type {Shortcut[]} */
const shortcuts = [
  { keys: "?", does: N_("Show keyboard shortcuts"), run: showShortcuts },
  { keys: "g", does: N_("Go to navigation"), run: focusNavigation },
  { keys: "t", does: N_("Change theme"), run: nextTheme },
];
/** Those of people who may chat. @type {Shortcut[]} */
const ofChats = [
  { keys: "Ctrl K", does: N_("Search chats, messages, pages and commands"), run: showPalette },
  { keys: "n", does: N_("New chat"), run: () => go("/") },
];
/** Buttons that ignore the second click of a double click. */
const ONCE = "[data-question] button, .queue button, .stop, .broke button, .message footer > button";
const SINGLE_KEYS = "hookline-single-keys";

function focusNavigation() {
  const side = document.getElementById("side");
  if (side?.matches("[popover]") && getComputedStyle(side).display === "none") side.showPopover();
  /** @type {HTMLElement|null|undefined} */ (side?.querySelector(".nav-main a"))?.focus();
}

function showPalette() {
  import("./palette.js").then((one) => one.showPalette());
}

function showShortcuts() {
  if (document.querySelector("dialog[open]")) return;
  const rows = shortcuts.map(({ keys, does }) =>
    element("div", {}, element("dt", {}, element("kbd", {}, keys)), element("dd", {}, t(does))),
  );
  const single = /** @type {HTMLInputElement} */ (element("input", { type: "checkbox", id: "single-keys" }));
  single.checked = localStorage.getItem(SINGLE_KEYS) !== "off";
  single.addEventListener("change", () => localStorage.setItem(SINGLE_KEYS, single.checked ? "on" : "off"));
  const label = element("label", { for: "single-keys" }, t("Enable single-key shortcuts"));
  modal(
    t("Keyboard shortcuts"),
    element("h2", {}, t("Keyboard shortcuts")),
    element("dl", { class: "keys" }, ...rows),
    element("p", { class: "field switch" }, single, label),
    element("form", CLOSING, element("button", { autofocus: true, class: "primary" }, t("Close"))),
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
    const [page, placed] = await Promise.all(
      ["limit=40", "limit=200&placed=1"].map((query) => call("GET", `/api/sessions?kind=chat&archived=no&${query}`)),
    );
    sessions.clear();
    for (const one of [...page.sessions, ...placed.sessions]) sessions.set(one.id, one);
    more = page.next != null;
    drawRecent();
    document.querySelector("[data-recent] [aria-current]")?.scrollIntoView({ block: "nearest" });
  } catch {
    // The list is optional; the page itself reports errors.
  }
}

/** @param {any} session */
export const titleOf = (session) => spelled(session?.title || session?.first_words || t("New chat"));

/** The person who is signed in, such as `web:owner`. */
export const person = () => document.querySelector(".side .foot [title]")?.getAttribute("title");

/** The owner of a chat: another person or a channel; empty for one's own chats. @param {any} session */
export function owner({ channel, chat }) {
  return `${channel}:${chat}` === person() ? "" : channel === "web" ? chat : channel;
}

const month = once(() => new Intl.DateTimeFormat(lang, { month: "long", year: "numeric" }));

/** Names of the groups of chats, by the time of their last message. @param {number} at Unix time in seconds */
function period(at) {
  const day = new Date().setHours(0, 0, 0, 0) / 1000;
  if (at >= day) return t("Today");
  if (at >= day - 86400) return t("Yesterday");
  if (at >= day - 7 * 86400) return t("Previous 7 days");
  if (at >= day - 30 * 86400) return t("Previous 30 days");
  return month().format(at * 1000);
}

/** The chats in the list: of the versions of each the one used last, newest first. */
export function recentChats() {
  const newest = [...sessions.values()].sort((a, b) => (b.updated ?? 0) - (a.updated ?? 0));
  const roots = new Set();
  return newest.filter((one) => {
    const root = one.root ?? one.id;
    if (roots.has(root) || one.archived) return false;
    return roots.add(root);
  });
}

/** The row of a chat. @param {any} one */
function recentRow(one) {
  const mark = one.question ? "asks" : one.state === "running" ? "runs" : "";
  const dot = mark
    ? [
        element("span", { class: `dot ${mark}`, "aria-hidden": "true" }),
        element("span", { class: "unseen" }, ` (${mark === "asks" ? t("waiting for your answer") : t("working")})`),
      ]
    : [];
  const whose = owner(one);
  const about = [titleOf(one), whose, one.updated && clock(one.updated)].filter(Boolean).join(" · ");
  const current_ = one.id === current || (one.root && one.root === sessions.get(current)?.root) ? "page" : null;
  const link = { href: `/chat/${encodeURIComponent(one.id)}`, title: about, "aria-current": current_ };
  const label = whose ? [" ", element("span", { class: "whose" }, whose)] : [];
  const name = { type: "button", class: "plain row-more", "aria-label": t("Options of {title}", { title: titleOf(one) }), "aria-haspopup": "true" };
  /** @param {Event} event */
  const open = (event) => {
    const button = /** @type {HTMLElement} */ (event.currentTarget);
    import("./organise.js").then((all) => all.showMenu(button, one));
  };
  const menu = whose || one.root == null ? [] : [element("button", { ...name, click: open }, "⋯")];
  return element("li", {}, element("a", link, element("span", { dir: "auto" }, titleOf(one)), ...label, ...dot), ...menu);
}

function drawRecent() {
  const list = document.querySelector("[data-chats]");
  if (!list || document.getElementById("row-menu")?.matches(":popover-open")) return;
  const groups = new Map([[t("Pinned"), /** @type {any[]} */ ([])]]);
  const all = recentChats();
  for (const folder of all.map((one) => (one.pinned ? "" : one.folder)).filter(Boolean).sort(byName)) groups.set(`folder:${folder}`, []);
  let left = 40;
  for (const one of all) {
    const name = one.pinned ? t("Pinned") : one.folder ? `folder:${one.folder}` : period(one.updated ?? 0);
    if (!one.pinned && !one.folder && --left < 0) continue;
    groups.set(name, [...(groups.get(name) ?? []), one]);
  }
  const rows = [...groups].filter(([, members]) => members.length).map(([name, members]) => {
    const ul = element("ul", {}, ...members.map(recentRow));
    if (!name.startsWith("folder:")) return element("div", { class: "period" }, element("h3", {}, name), ul);
    const title = name.slice(7);
    const key = `hookline-folder:${title}`;
    const folder = /** @type {HTMLDetailsElement} */ (element("details", {}, element("summary", {}, spelled(title)), ul));
    folder.open = localStorage.getItem(key) !== "closed" || members.some((one) => one.id === current);
    folder.addEventListener("toggle", () => localStorage.setItem(key, folder.open ? "open" : "closed"));
    return folder;
  });
  if (more) rows.push(element("ul", {}, element("li", {}, element("a", { href: "/sessions" }, element("span", {}, t("All chats"))))));
  const hint = element("p", { class: "quiet small hint" }, t("Your chats appear here."));
  const at = list.contains(document.activeElement) && document.activeElement?.getAttribute("href");
  list.replaceChildren(...(rows.length ? rows : [hint]));
  if (at) /** @type {HTMLElement|null} */ (list.querySelector(`a[href="${at}"]`))?.focus({ preventScroll: true });
}

/** Set up the frame of a page. */
export function begin() {
  for (const section of /** @type {NodeListOf<HTMLDetailsElement>} */ (document.querySelectorAll("[data-section]"))) {
    const key = `hookline-section:${section.dataset.section}`;
    if (localStorage.getItem(key) === "open") section.open = true;
    // Not "toggle", which also comes when the page opens the section of the current page.
    section.querySelector("summary")?.addEventListener("click", () => localStorage.setItem(key, section.open ? "closed" : "open"));
  }
  rememberTheme();
  labelThemeButtons();
  addEventListener("keydown", pressed);
  document.addEventListener("click", (event) => {
    // By the second click, another question, message or answer may be in the place of the first.
    if (event.detail > 1 && /** @type {Element} */ (event.target).closest(ONCE)) {
      event.preventDefault();
      event.stopImmediatePropagation();
    }
  }, true);
  document.addEventListener("click", (event) => {
    const target = /** @type {Element} */ (event.target);
    if (target.closest("[data-theme-switch]")) nextTheme();
    if (target.closest("[data-keys]")) showShortcuts();
    if (target.closest("[data-palette]")) showPalette();
    if (target.closest("[data-organise]")) import("./organise.js").then((one) => one.organise());
    if (target.closest("[data-notifications]")) import("./push.js").then((one) => one.showNotifications());
  });
  if (document.querySelector("[data-recent]")) {
    shortcuts.unshift(...ofChats);
    // Load what Ctrl K shows before it is pressed: what is typed after it must not go into a message.
    loadRecent().then(() => import("./palette.js")).catch(() => {});
  }
  const asApp = () => import("./push.js").then((one) => one.registerWorker()).catch(() => {});
  if (matchMedia("(display-mode: standalone)").matches) asApp();
  addEventListener("appinstalled", asApp);
}
