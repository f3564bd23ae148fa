/** The dialog *Share*: makes links that show a chat without a login, and ends them. @module */
import { call } from "./api.js";
import { copy } from "./copy.js";
import { t, tn } from "./i18n.js";
import { element, modal } from "./shell.js";
import { clock } from "./util.js";

const DAYS = [1, 7, 30];

/** @param {string} session */
export async function showShare(session) {
  const path = `/api/sessions/${encodeURIComponent(session)}/links`;
  const status = element("p", { role: "status" });
  const made = element("div", { class: "field", hidden: true });
  const list = element("ul", { class: "links" });
  const heading = element("h3", {}, t("Links to this chat"));
  const days = /** @type {HTMLSelectElement} */ (element("select", { id: "share-days" }));
  for (const n of DAYS) days.append(element("option", { value: `${n}` }, tn("{n} day", "{n} days", n)));
  days.value = "7";

  /** @param {any} link */
  const row = (link) => {
    const until = t("created {time}, works until {end}", { time: clock(link.created), end: clock(link.expires) });
    const revoke = element("button", { type: "button", class: "danger", click: () => attempt(() => end(link)), "aria-label": t("Revoke the link created {time}", { time: clock(link.created) }) }, t("Revoke"));
    return element("li", {}, element("span", { class: "grow" }, until), revoke);
  };
  const draw = async () => {
    const { links } = await call("GET", path);
    list.replaceChildren(...links.map(row));
    heading.toggleAttribute("hidden", !links.length);
  };
  /** @param {any} link */
  const end = async (link) => {
    await call("DELETE", `/api/links/${encodeURIComponent(link.id)}`);
    if (made.dataset.link === link.id) made.hidden = true;
    status.textContent = t("The link does not work any more.");
  };
  const create = async () => {
    const link = await call("POST", path, { days: Number(days.value) });
    const url = location.origin + link.path;
    const box = /** @type {HTMLInputElement} */ (element("input", { id: "share-link", readonly: true, value: url, dir: "ltr", focus: () => box.select() }));
    const copies = element("button", { type: "button", click: (/** @type {any} */ event) => copy(event, url) }, t("Copy"));
    made.replaceChildren(element("label", { for: box.id }, t("The link; it is shown only now")), element("div", { class: "actions" }, box, copies));
    made.dataset.link = link.id;
    made.hidden = false;
    status.textContent = t("The link was created.");
    box.focus();
  };
  /** @param {() => Promise<void>} work */
  const attempt = async (work) => {
    button.setAttribute("disabled", "");
    status.textContent = "";
    await work().then(draw).catch((error) => (status.textContent = error.message));
    button.removeAttribute("disabled");
  };
  const button = element("button", { type: "button", class: "primary", click: () => attempt(create) }, t("Create link"));

  await draw();
  const dialog = modal(
    t("Share this chat"),
    element("h2", {}, t("Share this chat")),
    element("p", {}, t("Whoever has the link can read this chat without signing in: its title, your messages and the answers up to now, and the names of tools and files.")),
    element("p", {}, t("Later messages, what tools were given and returned, and the contents of files are not shown. Known secrets are masked, but read the chat through before you share it.")),
    element("div", { class: "field" }, element("label", { for: days.id }, t("The link works for")), days),
    made,
    status,
    heading,
    list,
    element("div", { class: "actions" }, element("form", { method: "dialog" }, element("button", {}, t("Close"))), button),
  );
  dialog.classList.add("share");
}
