/** Editing a sent message in its place, and going through the versions of a message. @module */
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { t } from "./i18n.js";
import { cut } from "./util.js";

/**
 * @param {{text: string, files: any[], send: (text: string, files: any[]) => Promise<void>, cancel: () => void}} props
 */
export function Editor({ text: before, files: attached, send, cancel }) {
  const [text, setText] = useState(before);
  const [files, setFiles] = useState(attached);
  const [busy, setBusy] = useState(false);
  const box = useRef(/** @type {any} */ (null));
  useEffect(() => {
    box.current.focus();
    box.current.setSelectionRange(before.length, before.length);
    box.current.scrollIntoView({ block: "nearest" });
  }, []);
  const ready = !busy && (text.trim() || files.length);
  const submit = async () => {
    if (!ready) return;
    setBusy(true);
    await send(text.trim(), files);
    setBusy(false);
  };
  const keyed = (/** @type {KeyboardEvent} */ event) => {
    if (event.isComposing) return;
    const sends = event.key === "Enter" && (event.ctrlKey || event.metaKey || (!event.shiftKey && !matchMedia("(pointer: coarse)").matches));
    if (event.key !== "Escape" && !sends) return;
    event.preventDefault();
    event.stopPropagation();
    if (sends) submit();
    else cancel();
  };
  return html`<form class="editor" onSubmit=${(/** @type {Event} */ e) => (e.preventDefault(), submit())}>
    ${files.length
      ? html`<ul class="chips">
          ${files.map(
            (file) =>
              html`<li class="chip">
                ${cut(file.name, 32)}
                <button type="button" class="plain" aria-label=${t("Remove {name}", { name: file.name })} onClick=${() => setFiles(files.filter((one) => one !== file))}>✕</button>
              </li>`,
          )}
        </ul>`
      : null}
    <textarea
      ref=${box}
      dir="auto" aria-label=${t("Edit message")} rows=${Math.min(text.split("\n").length + 1, 12)}
      value=${text}
      onInput=${(/** @type {any} */ e) => setText(e.currentTarget.value)}
      onKeyDown=${keyed}
    ></textarea>
    <div class="actions">
      <span class="quiet small grow">${t("The conversation continues from here. Later messages stay in the previous version.")}</span>
      <button type="button" onClick=${cancel}>${t("Cancel")}</button>
      <button class="primary" disabled=${!ready}>${t("Send")}</button>
    </div>
  </form>`;
}

/** @param {{version: {ids: string[], current: number}|undefined, open: (id: string) => void}} props */
export function VersionSwitch({ version, open }) {
  if (!version) return null;
  const { ids, current } = version;
  const step = (/** @type {number} */ by, /** @type {string} */ label, /** @type {string} */ sign) =>
    html`<button
      type="button" class="plain" aria-label=${label} title=${label}
      disabled=${!ids[current + by]}
      onClick=${() => open(ids[current + by])}
    >
      ${sign}
    </button>`;
  return html`<span class="versions" role="group" aria-label=${t("Versions")}>
    ${step(-1, t("Previous version"), "‹")}<span>${current + 1} / ${ids.length}</span>${step(1, t("Next version"), "›")}
  </span>`;
}
