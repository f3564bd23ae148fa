/** The files of a chat's folder, in a panel beside the chat. @module */
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { call, errorFrom, unsent } from "./api.js";
import { t, tn } from "./i18n.js";
import { ChangeBadge, Preview, attachedFile, workspaceFile } from "./preview.js";
import { confirmed } from "./shell.js";
import { Visible } from "./text.js";
import { byName, cut, size } from "./util.js";

/** Changed files that are listed. */
const MAX_CHANGED = 100;

/**
 * @typedef {object} Place where the panel is
 * @property {string} [path] the file that is shown
 * @property {{id: string, name: string}} [file] a file of a message, which is shown instead
 */

/** @param {string} folder @param {string} name */
const join = (folder, name) => (folder ? `${folder}/${name}` : name);

/**
 * A folder: its entries are loaded when it is opened.
 * @param {{base: string, path: string, stamp: any, changes: any, open: (path: string) => void, tell: (listed: any) => void}} props
 */
function Folder({ base, path, stamp, changes, open, tell }) {
  const [listed, setListed] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState("");
  const [opened, setOpened] = useState(/** @type {Set<string>} */ (new Set()));
  useEffect(() => {
    call("GET", `${base}?path=${encodeURIComponent(path)}`).then(
      (found) => (setListed(found), setProblem(""), tell(found)),
      (error) => setProblem(error.message),
    );
  }, [base, path, stamp]);
  if (problem) return html`<p class="bad small" role="alert">${problem}</p>`;
  if (!listed) return html`<p class="quiet small">${t("Loading …")}</p>`;
  if (!listed.entries.length) return html`<p class="quiet small">${path ? t("This folder is empty.") : t("There are no files yet.")}</p>`;
  const toggle = (/** @type {string} */ name) => {
    const now = new Set(opened);
    if (!now.delete(name)) now.add(name);
    setOpened(now);
  };
  return html`<ul class="tree">
    ${listed.entries.map((/** @type {any} */ one) => {
      const here = join(path, one.name);
      if (!one.folder) {
        return html`<li key=${one.name}>
          <button type="button" class="plain" data-path=${here} onClick=${() => open(here)}>
            <span class="tree-name"><${Visible} text=${one.name} /></span>
            <${ChangeBadge} change=${changes[here]} />
            <span class="quiet small">${size(one.size)}</span>
          </button>
        </li>`;
      }
      const isOpen = opened.has(one.name);
      const within = Object.keys(changes).some((name) => name.startsWith(`${here}/`));
      return html`<li key=${one.name} data-folder=${here}>
        <button type="button" class="plain" aria-expanded=${isOpen} onClick=${() => toggle(one.name)}>
          <span class="fold-sign" aria-hidden="true">${isOpen ? "▾" : "▸"}</span>
          <span class="tree-name"><${Visible} text=${`${one.name}/`} /></span>
          ${within && html`<span class="dot changed" title=${t("Holds changed files")}></span><span class="unseen">, ${t("holds changed files")}</span>`}
        </button>
        ${isOpen && html`<${Folder} ...${{ base, path: here, stamp, changes, open, tell: () => {} }} />`}
      </li>`;
    })}
    ${listed.more && html`<li class="quiet small">${t("Not all files are shown.")}</li>`}
  </ul>`;
}

/** Send a file. @param {string} base @param {string} path @param {File} file @param {boolean} overwrite */
async function put(base, path, file, overwrite) {
  const address = `${base}?path=${encodeURIComponent(path)}${overwrite ? "&overwrite=1" : ""}`;
  /** @type {Response} */
  let response;
  try {
    response = await fetch(address, { method: "PUT", body: file, credentials: "same-origin" });
  } catch {
    throw await unsent(file, path);
  }
  if (!response.ok) throw await errorFrom(response);
}

/** Upload files into a folder; one that exists is replaced only if the person agrees. */
async function uploadAll(/** @type {string} */ base, /** @type {string} */ folder, /** @type {File[]} */ files) {
  for (const file of files) {
    const path = join(folder, file.name);
    try {
      await put(base, path, file, false);
    } catch (error) {
      if (/** @type {import("./api.js").ApiError} */ (error).code !== "exists") throw error;
      const sure = await confirmed(t("{path} exists already. Replace it?", { path }), t("Replace"), "danger");
      if (sure) await put(base, path, file, true);
    }
  }
}

/**
 * @param {{chat: import("./chat.js").Chat, place: Place, stamp: any, asks: boolean, limit: number,
 *   show: (place: Place) => void, close: () => void}} props
 * `stamp` changes when files may have changed
 */
export function FilesPanel({ chat, place, stamp, asks, limit, show, close }) {
  const [changes, setChanges] = useState(/** @type {any} */ ({ files: {}, last: [] }));
  const [listed, setListed] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState("");
  const [uploads, setUploads] = useState(0);
  const [over, setOver] = useState(false);
  const title = useRef(/** @type {any} */ (null));
  const picker = useRef(/** @type {any} */ (null));
  const base = `/api/sessions/${encodeURIComponent(chat.id)}/workspace`;
  const now = `${stamp} ${uploads}`;
  useEffect(() => title.current.focus(), []);
  useEffect(() => {
    call("GET", `${base}/changes`).then(setChanges, () => {});
  }, [base, now]);
  const upload = (/** @type {File[]} */ files, folder = "") => {
    setProblem("");
    const large = files.find((file) => file.size > limit);
    if (large) return setProblem(t("{name} has {size}. The limit is {limit}.", { name: large.name, size: size(large.size), limit: size(limit) }));
    uploadAll(base, folder, files)
      .catch((error) => setProblem(error.message))
      .finally(() => setUploads((count) => count + 1));
  };
  const drag = (/** @type {DragEvent} */ event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    event.stopPropagation(); // the message box takes the files dropped elsewhere
    setOver(event.type === "dragover");
    if (event.type !== "drop") return;
    const row = /** @type {Element} */ (event.target).closest("[data-folder]");
    upload([...event.dataTransfer.files], row?.getAttribute("data-folder") ?? "");
  };
  const source = () => {
    if (place.file) return attachedFile(place.file);
    const path = /** @type {string} */ (place.path);
    const change = changes.last.includes(path) ? changes.files[path] ?? "changed" : undefined;
    return { ...workspaceFile(chat.id, path), change };
  };
  const changed = Object.keys(changes.files).sort(byName);
  const folder = listed?.root?.split("/").at(-1) ?? "";
  return html`<section
    class=${`details files-panel${over ? " over" : ""}`} role="region" aria-label=${t("Files")}
    onKeyDown=${(/** @type {KeyboardEvent} */ e) => e.key === "Escape" && !e.defaultPrevented && (e.preventDefault(), close())}
    onDragOver=${drag} onDragLeave=${drag} onDrop=${drag}
  >
    <header class="bar">
      <h2 class="title" tabindex="-1" ref=${title}>${t("Files")}${folder && html` <span class="quiet">${cut(folder, 28)}</span>`}</h2>
      ${listed?.writable &&
      html`<input type="file" multiple hidden ref=${picker} onChange=${(/** @type {any} */ e) => (upload([...e.currentTarget.files]), (e.currentTarget.value = ""))} />
        <button type="button" onClick=${() => picker.current.click()}>${t("Upload")}</button>`}
      <button type="button" class="plain icon" aria-label=${t("Close files")} onClick=${close}>✕</button>
    </header>
    ${asks && html`<button type="button" class="asks-behind" onClick=${close}>${t("A question is waiting in the chat")}</button>`}
    <div class="details-body" tabindex="0">
      ${problem && html`<p class="notice tone-bad" role="alert">${problem}</p>`}
      ${(place.path || place.file) && html`<${Preview} key=${place.path ?? place.file?.id} ...${{ source: source(), stamp: now, back: () => show({}) }} />`}
      <div hidden=${Boolean(place.path || place.file)}>
        ${changed.length > 0 &&
        html`<h3>${t("Changed in this chat")}</h3>
          <ul class="tree">
            ${changed.slice(0, MAX_CHANGED).map(
              (path) => html`<li key=${path}>
                <button type="button" class="plain" onClick=${() => show({ path })}>
                  <span class="tree-name"><${Visible} text=${path} /></span> <${ChangeBadge} change=${changes.files[path]} />
                </button>
              </li>`,
            )}
            ${changed.length > MAX_CHANGED && html`<li class="quiet small">${tn("… and {n} more", "… and {n} more", changed.length - MAX_CHANGED)}</li>`}
          </ul>
          <h3>${t("All files")}</h3>`}
        <${Folder} ...${{ base, path: "", stamp: now, changes: changes.files, open: (/** @type {string} */ path) => show({ path }), tell: setListed }} />
        ${listed?.root && html`<p class="quiet small">${t("Folder: {path}", { path: listed.root })}</p>`}
        ${listed?.writable && html`<p class="quiet small mouse">${t("Drop files here to add them to the folder.")}</p>`}
      </div>
    </div>
  </section>`;
}
