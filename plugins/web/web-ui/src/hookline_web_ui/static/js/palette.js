/** Ctrl K: goes to chats, messages, pages and commands by typing. @module */
import { call } from "./api.js";
import { N_, t, tn } from "./i18n.js";
import { element, go, nextTheme, recentChats, titleOf } from "./shell.js";
import { clock } from "./util.js";
import { spelled } from "./visible.js";

/**
 * @typedef {object} Entry
 * @property {string} group
 * @property {string} title
 * @property {string} [about]
 * @property {string} [words] more text to search in
 * @property {() => void} run
 */

const MAX_IN_GROUP = 6;
/** Milliseconds after the last key before the messages are searched. */
const SEARCH_DELAY = 150;

/** @type {any[]|null} */
let commands = null;

/** @param {any} session @param {string} [place] */
const address = (session, place = "") => `/chat/${encodeURIComponent(session.id)}${place}`;

/** @param {string} text */
function compose(text) {
  const taken = !dispatchEvent(new CustomEvent("compose", { detail: text, cancelable: true }));
  if (taken) return;
  sessionStorage.setItem("draft:", JSON.stringify({ text, files: [] }));
  go("/");
}

/** @param {any} session */
const entry = (session) => ({ group: "Chats", title: titleOf(session), words: session.folder, about: session.updated ? clock(session.updated) : "" });

/** @returns {Entry[]} what can be chosen without asking the server */
function known() {
  const links = /** @type {HTMLAnchorElement[]} */ ([...document.querySelectorAll(".nav-main a")]);
  return [
    { group: "Actions", title: t("New chat"), run: () => go("/") },
    ...recentChats().map((one) => ({ ...entry(one), run: () => go(address(one)) })),
    ...links.map((link) => ({
      ...{ group: "Pages", title: link.querySelector("span")?.textContent ?? "", run: () => go(link.href) },
      about: link.closest("details")?.dataset.section ?? "",
    })),
    ...(commands ?? []).map((one) => ({ group: "Commands", title: one.name, about: one.help, run: () => compose(`${one.name} `) })),
    { group: "Actions", title: t("Change theme"), words: t("dark light"), run: nextTheme },
    { group: "Actions", title: t("Organise chats"), words: t("archive folder delete"), run: () => import("./organise.js").then((one) => one.organise()) },
  ];
}

/** Chats and messages of the server that are not known here. @param {string} typed @returns {Promise<Entry[]>} */
async function messages(typed) {
  const { sessions } = await call("GET", `/api/sessions?limit=8&q=${encodeURIComponent(typed)}`);
  const roots = new Set();
  const listed = new Set(recentChats().map((one) => one.root ?? one.id));
  return sessions
    .filter((/** @type {any} */ one) => (one.found || !listed.has(one.root)) && !roots.has(one.root) && roots.add(one.root))
    .map((/** @type {any} */ one) => ({
      ...(one.found ? { group: "Messages", title: spelled(near(one.found, typed)), about: titleOf(one) } : entry(one)),
      run: () => go(address(one, one.found_seq == null ? "" : `#m${one.found_seq}`)),
    }));
}

/** The text from shortly before the first match. @param {string} text @param {string} typed */
function near(text, typed) {
  const from = text.toLowerCase().indexOf(typed.toLowerCase()) - 16;
  return from > 4 ? `…${text.slice(text.indexOf(" ", from) + 1)}` : text;
}

/** Whether each typed word is somewhere in the entry. @param {Entry} entry @param {string[]} typed */
const fits = ({ title, about = "", words = "" }, typed) => {
  const text = `${title} ${about} ${words}`.toLowerCase();
  return typed.every((word) => text.includes(word));
};

/** Show the palette. */
export function showPalette() {
  if (document.querySelector("dialog[open]")) return;
  const side = document.getElementById("side");
  if (side?.matches(":popover-open")) side.hidePopover();
  const box = /** @type {HTMLInputElement} */ (
    element("input", {
      ...{ type: "search", role: "combobox", "aria-label": t("Search"), "aria-expanded": "true", autofocus: true },
      ...{ "aria-controls": "palette-list", placeholder: t("Search chats, messages, pages and commands"), autocomplete: "off" },
    })
  );
  const list = element("div", { id: "palette-list", role: "listbox", "aria-label": t("Results") });
  const none = element("p", { class: "quiet" }, t("Nothing found.")); // a list box has only options in it
  const count = element("p", { class: "unseen", role: "status" });
  const dialog = /** @type {HTMLDialogElement} */ (element("dialog", { class: "palette", "aria-label": t("Search") }, box, list, none, count));
  /** @type {Entry[]} */
  let shown = [];
  /** @type {Entry[]} */
  let found = [];
  let at = 0;
  let round = 0;
  const choose = (/** @type {Entry|undefined} */ entry) => {
    if (!entry) return;
    dialog.close();
    entry.run();
  };
  const mark = () => {
    const rows = list.querySelectorAll("[role=option]");
    for (const [n, row] of rows.entries()) row.setAttribute("aria-selected", `${n === at}`);
    if (rows[at]) box.setAttribute("aria-activedescendant", rows[at].id);
    else box.removeAttribute("aria-activedescendant");
    rows[at]?.scrollIntoView({ block: "nearest" });
  };
  const draw = () => {
    const typed = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    const groups = new Map();
    const words = box.value.trim().toLowerCase(); // `found` may still be of an earlier search
    const all = [...known().filter((one) => fits(one, typed)), ...found.filter((one) => one.title.toLowerCase().includes(words))];
    for (const one of all) {
      const members = groups.get(one.group) ?? groups.set(one.group, []).get(one.group);
      if (members.length < MAX_IN_GROUP && (typed.length || one.group !== "Commands")) members.push(one);
    }
    const order = [N_("Chats"), N_("Messages"), N_("Actions"), N_("Pages"), N_("Commands")];
    shown = order.flatMap((group) => groups.get(group) ?? []);
    at = Math.max(0, Math.min(at, shown.length - 1));
    const rows = order.flatMap((group) => {
      const members = /** @type {Entry[]} */ (groups.get(group) ?? []);
      if (!members.length) return [];
      const options = members.map((one) => {
        const about = one.about ? [element("span", { class: "about", dir: "auto" }, one.about)] : [];
        const row = element("div", { id: `palette-${shown.indexOf(one)}`, role: "option" }, element("span", { class: "what", dir: "auto" }, one.title), ...about);
        row.addEventListener("click", () => choose(one));
        return row;
      });
      return [element("div", { role: "group", "aria-label": t(group) }, element("div", { class: "quiet small", "aria-hidden": "true" }, t(group)), ...options)];
    });
    list.replaceChildren(...rows);
    list.hidden = !rows.length;
    none.hidden = !list.hidden;
    box.setAttribute("aria-expanded", `${!list.hidden}`);
    count.textContent = tn("{n} result", "{n} results", shown.length);
    mark();
  };
  const search = async () => {
    const typed = box.value.trim();
    const mine = ++round;
    await new Promise((done) => setTimeout(done, SEARCH_DELAY));
    if (mine !== round) return;
    const all = typed.length > 1 ? await messages(typed).catch(() => []) : [];
    if (mine !== round || !dialog.isConnected) return;
    found = all;
    draw();
  };
  box.addEventListener("input", () => {
    at = 0;
    draw();
    search();
  });
  box.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.isComposing) return;
    if (step && shown.length) at = (at + step + shown.length) % shown.length;
    else if (event.key === "Enter") choose(shown[at]);
    else return;
    event.preventDefault();
    mark();
  });
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  draw();
  if (!commands) {
    call("GET", "/api/commands").then((all) => ((commands = all.commands), dialog.isConnected && draw()), () => {});
  }
}
