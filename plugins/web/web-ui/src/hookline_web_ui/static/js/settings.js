/** Model, mode, reasoning and folder of the chat, below the message box. @module */
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { call } from "./api.js";
import { t } from "./i18n.js";
import { element, modal } from "./shell.js";
import { cut } from "./util.js";

const LABELS = /** @type {Record<string, string>} */ ({ model: t("Model"), mode: t("Mode"), reasoning: t("Reasoning") });
const KEY = "settings:";

/** What was chosen for a chat that does not exist yet. @returns {Record<string, string>} */
export function chosen() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? "{}");
  } catch {
    return {};
  }
}

/** @param {Record<string, string>} values */
export function keepChosen(values) {
  if (Object.keys(values).length) sessionStorage.setItem(KEY, JSON.stringify(values));
  else sessionStorage.removeItem(KEY);
}

/** The name that a choice has where there is little room. @param {string} name @param {string} value */
function short(name, value) {
  if (name === "model") return cut(value.split("/").at(-1) ?? "", 28);
  if (name === "reasoning") return value === "default" ? t("Reasoning") : t("Reasoning: {value}", { value });
  return value[0].toUpperCase() + value.slice(1);
}

const SANDBOX = /** @type {Record<string, [string, string]>} */ ({
  off: [t("No sandbox"), t("Commands run on this machine without a sandbox.")],
  default: [t("Sandbox"), t("Commands run in a sandbox, with the network that the settings allow.")],
  "no-network": [t("Sandbox without network"), t("Commands reach no network and never leave the sandbox. Other tools, such as those that read web pages, still do.")],
});

/**
 * Whether commands run in a sandbox, which can be made stricter for the chat; without one a link for operators to where that is set.
 * @param {{value: string, mine: boolean, choose: (value: string) => void}} props
 */
function Sandbox({ value, mine, choose }) {
  const [name, title] = SANDBOX[value];
  if (value === "off") {
    const isOperator = document.querySelector('.nav-main a[href="/plugins"]') != null;
    return isOperator ? html`<a href="/plugins/shell" class="fact bad" title=${title}>${name}</a>` : html`<span class="fact bad" title=${title}>${name}</span>`;
  }
  return html`<label class="pick">
    <span class="pick-label" aria-hidden="true">${t("Sandbox")}</span>
    <span class="pick-short" aria-hidden="true">${name}</span>
    <span class="pick-value" aria-hidden="true">${name}</span>
    <select aria-label=${t("Sandbox")} disabled=${!mine} value=${value} onChange=${(/** @type {any} */ e) => choose(e.currentTarget.value)}>
      ${["default", "no-network"].map((one) => html`<option value=${one} selected=${one === value}>${SANDBOX[one].join(" · ")}</option>`)}
    </select>
  </label>`;
}

/** Ask for the path of a folder that is not in the list. @param {(path: string) => void} choose */
function askForFolder(choose) {
  const problem = element("p", { class: "bad small", role: "alert" });
  const path = /** @type {HTMLInputElement} */ (element("input", { id: "folder-path", dir: "ltr", required: true, autocomplete: "off", spellcheck: "false", placeholder: "~/projects/shop" }));
  const use = element("button", { class: "primary" }, t("Work in this folder"));
  const form = element("form", {}, element("div", { class: "field" }, element("label", { for: path.id }, t("Path of the folder")), path), problem);
  const cancel = element("button", { type: "button", click: () => dialog.close() }, t("Cancel"));
  form.append(element("div", { class: "actions" }, cancel, use));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    problem.textContent = "";
    use.setAttribute("disabled", "");
    try {
      const found = await call("POST", "/api/folders", { path: path.value });
      dialog.close();
      choose(found.path);
    } catch (error) {
      problem.textContent = /** @type {Error} */ (error).message;
      path.focus();
    }
    use.removeAttribute("disabled");
  });
  const about = t("A folder on the machine that runs Hookline. The agent can read and change the files in it.");
  const dialog = modal(t("Another folder"), element("h2", {}, t("Another folder")), element("p", {}, about), form);
  path.focus();
}

const OTHER = "…";

/**
 * The folder that the chat works in; only operators have a choice, others can go back to the chat's own.
 * @param {{folder: any, mine: boolean, value?: string, choose: (value: string) => void}} props
 */
function FolderChoice({ folder, mine, value: chosenNow, choose }) {
  const value = chosenNow ?? folder.value;
  const path = chosenNow == null ? folder.path : chosenNow || folder.default;
  const name = value ? cut(folderName(path), 20) : t("Own folder");
  if (!folder.other && !value) return html`<span class="quiet fact" title=${t("Folder: {path}", { path })}>${name}</span>`;
  const choices = [...new Set(["", value, ...folder.choices])];
  const changed = (/** @type {HTMLSelectElement} */ select) => {
    if (select.value !== OTHER) return choose(select.value);
    select.value = value;
    askForFolder(choose);
  };
  return html`<label class="pick" title=${t("Folder: {path}", { path })}>
    <span class="pick-label" aria-hidden="true">${t("Folder")}</span>
    <span class="pick-short" aria-hidden="true">${name}</span>
    <span class="pick-value" aria-hidden="true">${value || t("The chat’s own folder")}</span>
    <select aria-label=${t("Folder")} disabled=${!mine} value=${value} onChange=${(/** @type {any} */ e) => changed(e.currentTarget)}>
      ${choices.map((one) => html`<option value=${one} selected=${one === value}>${one || t("The chat’s own folder")}</option>`)}
      ${folder.other && html`<option value=${OTHER}>${t("Another folder …")}</option>`}
    </select>
  </label>`;
}

/** @param {number} tokens */
const size = (tokens) => (tokens >= 1e6 ? `${tokens / 1e6}M` : `${Math.round(tokens / 1000)}k`);

/** @param {string} path */
const folderName = (path) => path.replace(/\/+$/, "").split("/").at(-1) || path;

/**
 * @param {{id: string, known: boolean, mine: boolean, stamp: any, fail: (error: any) => void}} props
 * `stamp` changes when the settings may have changed elsewhere
 */
export function Settings({ id, known, mine, stamp, fail }) {
  const [all, setAll] = useState(/** @type {any} */ (null));
  const path = known ? `/api/sessions/${encodeURIComponent(id)}/settings` : "/api/settings";
  const read = async () => {
    const found = await call("GET", path).catch(() => null);
    if (!found) return;
    const mineNow = known ? {} : chosen();
    for (const one of found.settings) one.value = mineNow[one.name] ?? one.value;
    found.sandbox = mineNow.sandbox ?? found.sandbox;
    setAll(found);
  };
  useEffect(() => void read(), [path, stamp]);
  const frame = useRef(/** @type {any} */ (null));
  const [open, setOpen] = useState(false);
  useEffect(() => {
    if (!open) return undefined;
    const closed = (/** @type {Event} */ event) => frame.current?.contains(event.target) || setOpen(false);
    addEventListener("pointerdown", closed);
    return () => removeEventListener("pointerdown", closed);
  }, [open]);
  if (!all) return html`<div class="settings"></div>`;
  /** @param {string} name @param {string} value */
  const choose = async (name, value) => {
    const folder = name === "folder" ? { ...all.folder, value, path: value || all.folder.default } : all.folder;
    const sandbox = name === "sandbox" ? value : all.sandbox;
    setAll({ ...all, folder, sandbox, settings: all.settings.map((/** @type {any} */ one) => (one.name === name ? { ...one, value } : one)) });
    if (!known) return keepChosen({ ...chosen(), [name]: value });
    await call("POST", path, { [name]: value }).catch((error) => (fail(error), read()));
  };
  return html`<div class="settings-frame" ref=${frame} onKeyDown=${(/** @type {KeyboardEvent} */ e) => e.key === "Escape" && open && (e.stopPropagation(), e.preventDefault(), setOpen(false))}>
    <button type="button" class="plain icon" aria-label=${t("Settings of this chat")} title=${t("Settings of this chat")} aria-expanded=${open} onClick=${() => setOpen(!open)}>
      <svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d="M4 7h9M17 7h3M4 17h3M11 17h9" /><circle cx="15" cy="7" r="2" /><circle cx="9" cy="17" r="2" /></svg>
    </button>
    <div class=${`settings${open ? " open" : ""}`} role="group" aria-label=${t("Settings of this chat")}>
    ${all.settings.map((/** @type {any} */ one) => {
      const names = one.choices.map((/** @type {any} */ choice) => choice.value);
      const choices = names.includes(one.value) ? one.choices : [{ value: one.value, about: "" }, ...one.choices];
      const window = one.name === "model" && all.window ? t("Context: {size} tokens", { size: size(all.window) }) : "";
      const spoken = (/** @type {any} */ choice) => [choice.value, choice.about, choice.value === one.value && window].filter(Boolean).join(" · ");
      return html`<label class="pick" key=${one.name}>
        <span class="pick-label" aria-hidden="true">${LABELS[one.name]}</span>
        <span class="pick-short" aria-hidden="true">${short(one.name, one.value)}</span>
        <span class="pick-value" aria-hidden="true">${one.value}</span>
        <select
          aria-label=${LABELS[one.name]} disabled=${!mine} value=${one.value}
          onChange=${(/** @type {any} */ e) => choose(one.name, e.currentTarget.value)}
        >
          ${choices.map((/** @type {any} */ choice) => html`<option value=${choice.value} selected=${choice.value === one.value}>${spoken(choice)}</option>`)}
        </select>
      </label>`;
    })}
    <${FolderChoice} ...${{ folder: all.folder, mine, value: known ? undefined : chosen().folder, choose: (/** @type {string} */ value) => choose("folder", value) }} />
    ${all.sandbox && html`<${Sandbox} ...${{ value: all.sandbox, mine, choose: (/** @type {string} */ value) => choose("sandbox", value) }} />`}
    </div>
  </div>`;
}
