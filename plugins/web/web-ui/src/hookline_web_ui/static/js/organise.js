/** Pins, folders, the archive, and deleting several chats at once. @module */
import { call } from "./api.js";
import { t, tn } from "./i18n.js";
import { changeRecent, confirmed, element, loadRecent, modal, person, putRecent, recentChats, titleOf } from "./shell.js";
import { byName, clock } from "./util.js";

/** @param {any} session */
const path = (session) => `/api/sessions/${encodeURIComponent(session.id)}`;
/** @param {any} session */
const isMine = (session) => `${session.channel}:${session.chat}` === person();

/** Change where a chat is in the list. @param {any} session @param {object} place */
export async function put(session, place) {
  const { session: changed } = await call("PATCH", path(session), place);
  putRecent(changed, { deleted: changed.archived });
  return changed;
}

/**
 * Ask for a line of text.
 * @param {string} title @param {string} label @param {string} button @param {Record<string, any>} about of the input
 * @param {...Node} more below the input
 * @returns {Promise<string|null>} null if it was cancelled
 */
function asked(title, label, button, about, ...more) {
  const box = /** @type {HTMLInputElement} */ (element("input", { autofocus: true, autocomplete: "off", dir: "auto", ...about }));
  const cancel = element("button", { type: "button", click: () => dialog.close() }, t("Cancel"));
  const buttons = element("div", { class: "actions" }, cancel, element("button", { value: "yes", class: "primary" }, button));
  const field = element("label", { class: "field" }, element("span", {}, label), box);
  const dialog = modal(title, element("h2", {}, title), element("form", { method: "dialog", class: "form" }, field, ...more, buttons));
  return new Promise((resolve) => dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes" ? box.value.trim() : null)));
}

/** Ask for a folder. @param {string} now */
function chosenFolder(now) {
  const names = [...new Set(recentChats().map((one) => one.folder).filter(Boolean))].sort(byName);
  const list = element("datalist", { id: "folders" }, ...names.map((name) => element("option", { value: name })));
  const hint = element("p", { class: "quiet small" }, t("A new name creates a folder. Leave it empty to take the chat out of its folder."));
  return asked(t("Move to folder"), t("Folder"), t("Move"), { value: now, list: "folders", maxlength: "60" }, list, hint);
}

/** @param {any} session */
async function rename(session) {
  const title = await asked(t("Rename"), t("Title"), t("Rename"), { value: titleOf(session), maxlength: "200" });
  if (title) putRecent((await call("PATCH", path(session), { title })).session);
}

/** @param {any} session */
export async function move(session) {
  const folder = await chosenFolder(session.folder ?? "");
  return folder == null ? session : put(session, { folder });
}

/** Show all chats with boxes to tick. */
export async function organise() {
  /** @type {Map<string, any>} */
  const chosen = new Map();
  /** @type {any[]} */
  let chats = [];
  const search = /** @type {HTMLInputElement} */ (element("input", { type: "search", "aria-label": t("Filter chats"), placeholder: t("Filter chats") }));
  const which = /** @type {HTMLSelectElement} */ (element("select", { "aria-label": t("Show") }, element("option", { value: "no" }, t("Chats")), element("option", { value: "yes" }, t("Archived"))));
  const list = element("ul", { class: "chat-list", tabindex: "0", "aria-label": t("Chats") });
  const all = /** @type {HTMLInputElement} */ (element("input", { type: "checkbox", id: "all-chats" }));
  const status = element("span", { class: "quiet small", role: "status" });
  const problem = element("p", { class: "bad small", role: "alert" });
  const shown = () => {
    const typed = search.value.toLowerCase();
    return chats.filter((one) => `${titleOf(one)} ${one.folder}`.toLowerCase().includes(typed));
  };
  const draw = () => {
    const rows = shown().map((one) => {
      const box = /** @type {HTMLInputElement} */ (element("input", { type: "checkbox", id: `chat-${one.id}` }));
      box.checked = chosen.has(one.id);
      box.addEventListener("change", () => {
        if (box.checked) chosen.set(one.id, one);
        else chosen.delete(one.id);
        tell();
      });
      const marks = [one.pinned && t("Pinned"), one.folder, one.updated && clock(one.updated)].filter(Boolean).join(" · ");
      return element("li", {}, box, element("label", { for: `chat-${one.id}`, dir: "auto" }, titleOf(one)), element("span", { class: "quiet small" }, marks));
    });
    list.replaceChildren(...(rows.length ? rows : [element("li", { class: "quiet" }, which.value === "yes" ? t("The archive is empty.") : t("No chats."))]));
    tell();
  };
  const tell = () => {
    status.textContent = chosen.size ? tn("{n} selected", "{n} selected", chosen.size) : "";
    all.checked = chosen.size > 0 && chosen.size === shown().length;
    archive.textContent = which.value === "yes" ? t("Restore") : t("Archive");
    for (const button of [move, archive, remove]) button.toggleAttribute("disabled", !chosen.size);
  };
  const load = async () => {
    chats = [];
    chosen.clear();
    for (let before = ""; ; ) {
      const page = await call("GET", `/api/sessions?limit=200&archived=${which.value}&before=${before}`);
      chats.push(...page.sessions.filter(isMine));
      if (page.next == null || chats.length >= 2000) break;
      before = page.next;
    }
    draw();
  };
  /** @param {(session: any) => Promise<any>} work */
  const each = async (work) => {
    problem.textContent = "";
    for (const one of [...chosen.values()]) {
      await work(one).catch((error) => (problem.textContent = `${titleOf(one)}: ${error.message}`));
      chosen.delete(one.id);
      tell(); // how many are left
    }
    await load().catch((error) => (problem.textContent = error.message));
    loadRecent();
  };
  const move = element("button", { type: "button", click: () => chosenFolder("").then((folder) => (folder == null ? undefined : each((one) => put(one, { folder })))) }, t("Move to folder"));
  const archive = element("button", { type: "button", click: () => each((one) => put(one, { archived: which.value !== "yes" })) }, t("Archive"));
  const remove = element("button", { type: "button", class: "danger", click: () => removeAll() }, t("Delete"));
  const removeAll = async () => {
    const what = tn("Delete this chat with all its messages? This cannot be undone.", "Delete these {n} chats with all their messages? This cannot be undone.", chosen.size);
    if (!(await confirmed(what, t("Delete"), "danger"))) return;
    const here = document.getElementById("main")?.dataset.session ?? "";
    const gone = chosen.has(here);
    await each((one) => call("DELETE", path(one)));
    if (gone) location.assign("/");
  };
  search.addEventListener("input", draw);
  which.addEventListener("change", () => load().catch((error) => (problem.textContent = error.message)));
  all.addEventListener("change", () => {
    chosen.clear();
    if (all.checked) for (const one of shown()) chosen.set(one.id, one);
    draw();
  });
  const side = document.getElementById("side");
  if (side?.matches(":popover-open")) side.hidePopover();
  const head = element("div", { class: "actions" }, search, which);
  const select = element("p", { class: "field switch" }, all, element("label", { for: "all-chats" }, t("Select all")), status);
  const close = element("form", { method: "dialog" }, element("button", {}, t("Close")));
  const dialog = modal(t("Organise chats"), element("h2", {}, t("Organise chats")), head, select, list, problem, element("div", { class: "actions" }, move, archive, remove, element("span", { class: "grow" }), close));
  dialog.classList.add("organise");
  await load().catch((error) => (problem.textContent = error.message));
}

/** The menu of a chat in the list. @param {HTMLElement} button @param {any} session */
export function showMenu(button, session) {
  document.getElementById("row-menu")?.remove();
  const item = (/** @type {string} */ label, /** @type {() => Promise<any>} */ run, danger = false) =>
    element("button", { type: "button", class: danger ? "plain danger" : "plain", click: () => (menu.hidePopover(), run().catch(failed)) }, label);
  const failed = (/** @type {Error} */ error) => modal(t("Problem"), element("p", { role: "alert" }, error.message), element("form", { method: "dialog", class: "actions" }, element("button", { class: "primary" }, t("Close"))));
  const remove = async () => {
    if (!(await confirmed(t("Delete “{title}” with all its messages? This cannot be undone.", { title: titleOf(session) }), t("Delete"), "danger"))) return;
    await call("DELETE", path(session));
    putRecent(session, { deleted: true });
    if (document.getElementById("main")?.dataset.session === session.id) location.assign("/");
  };
  const menu = element(
    "div",
    { class: "menu row-menu", id: "row-menu", popover: "auto" },
    item(t("Rename"), () => rename(session)),
    item(session.pinned ? t("Unpin") : t("Pin"), () => put(session, { pinned: !session.pinned })),
    item(t("Move to folder"), () => move(session)),
    item(t("Archive"), () => put(session, { archived: true })),
    item(t("Delete"), remove, true),
  );
  button.after(menu);
  menu.addEventListener("toggle", (event) => /** @type {any} */ (event).newState === "closed" && (button.setAttribute("aria-expanded", "false"), button.isConnected && menu.contains(document.activeElement) && button.focus()));
  button.setAttribute("aria-expanded", "true");
  menu.showPopover();
  const place = button.getBoundingClientRect();
  const top = Math.min(place.bottom + 4, innerHeight - menu.offsetHeight - 8);
  menu.style.setProperty("top", `${top}px`);
  menu.style.setProperty("left", `${Math.max(8, Math.min(place.right - menu.offsetWidth, innerWidth - menu.offsetWidth - 8))}px`);
  /** @type {HTMLElement|null} */ (menu.querySelector("button"))?.focus();
  changeRecent(session.id, {});
}
