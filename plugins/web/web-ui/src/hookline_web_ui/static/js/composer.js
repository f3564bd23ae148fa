/** Where a message is written: text, files, voice, commands. @module */
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { call, upload } from "./api.js";
import { t, tn } from "./i18n.js";
import { cut, size, uuid } from "./util.js";

const TOUCH = matchMedia("(pointer: coarse)");

/**
 * @typedef {object} Draft what survives a reload
 * @property {string} text
 * @property {any[]} files uploaded files
 */

/** @param {string} id @returns {Draft} */
export function readDraft(id) {
  try {
    return JSON.parse(sessionStorage.getItem(`draft:${id}`) ?? "") || { text: "", files: [] };
  } catch {
    return { text: "", files: [] };
  }
}

/** @param {string} id @param {Draft} draft */
export function keepDraft(id, draft) {
  try {
    if (draft.text || draft.files.length) {
      sessionStorage.setItem(`draft:${id}`, JSON.stringify(draft));
    } else sessionStorage.removeItem(`draft:${id}`);
  } catch {
    // Storage is full or disabled: the draft is lost on a reload.
  }
}

/** Keep what was typed while the page loaded. @param {string} id @param {any} area @returns {boolean} whether it has the focus */
export function keepAhead(id, area) {
  const { text, files } = readDraft(id);
  if (area.value) keepDraft(id, { text: [text, area.value].filter(Boolean).join("\n\n"), files });
  return document.activeElement === area && (!TOUCH.matches || area.value !== "");
}

/**
 * @param {{
 *   id: string, known: boolean, running: boolean, enterSends: boolean, limits: {file: number, text: number},
 *   Recorder?: any, settings?: any, given: {text: string, files: any[], uploads: File[], stamp: number}, blocked: string,
 *   send: (text: string, files: any[], mode: string) => void, stop: () => void,
 * }} props
 */
export function Composer({ id, known, running, enterSends, limits, Recorder, settings, given, blocked, send, stop }) {
  const [draft, setDraft] = useState(() => readDraft(id));
  /** The newest draft, even before it is drawn: a second press must not send it again. */
  const now = useRef(draft);
  const [uploads, setUploads] = useState(/** @type {any[]} */ ([]));
  const [problem, setProblem] = useState("");
  const [over, setOver] = useState(false);
  const input = useRef(/** @type {any} */ (null));
  const picker = useRef(/** @type {any} */ (null));
  const take = useRef(/** @type {any} */ (null));
  const completion = useCompletion(id, known, draft.text, (text) => change({ text }));

  /** @param {Partial<Draft>} changed */
  const change = (changed) => {
    now.current = { ...now.current, ...changed };
    keepDraft(id, now.current);
    setDraft(now.current);
  };
  useEffect(() => {
    if (given.stamp) {
      const text = [now.current.text.trim() === given.text ? "" : given.text, now.current.text].filter(Boolean).join("\n\n");
      change({ text, files: [...given.files, ...now.current.files] });
      attach(given.uploads);
      input.current?.focus();
    }
  }, [given.stamp]);
  useEffect(() => grow(input.current), [draft.text]);
  useEffect(() => {
    if (!TOUCH.matches) input.current?.focus();
    // Accept files dropped anywhere: the browser would open them in place of the page.
    const over = (/** @type {DragEvent} */ event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      setOver(event.type === "dragover");
      if (event.type === "drop") take.current(event.dataTransfer.files);
    };
    for (const kind of ["dragover", "dragleave", "drop"]) addEventListener(kind, /** @type {any} */ (over));
  }, []);

  const waiting = uploads.some((one) => !one.error);
  const hasContent = (/** @type {Draft} */ one) => Boolean(one.text.trim() || one.files.length);
  const ready = hasContent(draft) && !waiting && !blocked;
  const submit = (mode = running ? "queue" : "send") => {
    const { text, files } = now.current;
    if (waiting || blocked || !hasContent(now.current)) return; // the last key may not be drawn yet
    if (text.length > limits.text) {
      setProblem(tn("The message is {n} character too long. Send it as a file.", "The message is {n} characters too long. Send it as a file.", text.length - limits.text));
      return;
    }
    setProblem("");
    setUploads([]);
    change({ text: "", files: [] });
    send(text.trim(), files, mode);
    completion.close();
    input.current.focus();
  };

  /** @param {Iterable<File>} files with `forget` if a copy is kept until the file is uploaded or taken out */
  const attach = (files) => {
    for (const file of files) {
      const name = file.name || `pasted.${file.type.split("/")[1] ?? "bin"}`;
      const forget = /** @type {any} */ (file).forget ?? (() => {});
      if (file.size > limits.file) {
        setProblem(t("{name} has {size}. The limit is {limit}.", { name, size: size(file.size), limit: size(limits.file) }));
        forget();
        continue;
      }
      const one = { id: uuid(), name, share: 0, error: "", stop: new AbortController(), forget, again: () => begin() };
      const update = (/** @type {any} */ changed) =>
        setUploads((/** @type {any[]} */ old) =>
          old.map((other) => (other.id === one.id ? { ...other, ...changed } : other)),
        );
      const begin = () => {
        update({ error: "", share: 0 });
        upload(one.id, file, name, (share) => update({ share }), one.stop.signal).then(
          (stored) => {
            setUploads((/** @type {any[]} */ old) => old.filter((other) => other.id !== one.id));
            change({ files: [...now.current.files, stored] });
            forget();
          },
          (error) => update({ error: error.message }),
        );
      };
      setUploads((/** @type {any[]} */ old) => [...old, one]);
      begin();
    }
  };

  take.current = attach;
  const keyed = (/** @type {KeyboardEvent} */ event) => {
    if (event.isComposing || completion.keyed(event)) return;
    if (event.key !== "Enter" || event.shiftKey || event.altKey) return;
    const ctrl = event.ctrlKey || event.metaKey;
    if ((TOUCH.matches || !enterSends) && !ctrl) return; // a new line; on a phone the button sends
    event.preventDefault();
    submit(ctrl && running ? "steer" : undefined);
  };

  return html`<form
    class=${`composer${over ? " over" : ""}`}
    onSubmit=${(/** @type {Event} */ e) => (e.preventDefault(), submit())}
  >
    ${completion.list}
    ${(problem || blocked) && html`<p class="bad small" role="alert">${problem || blocked}</p>`}
    ${draft.files.length || uploads.length
      ? html`<ul class="chips">
          ${draft.files.map((/** @type {any} */ file) =>
            chip(file, null, () => change({ files: draft.files.filter((other) => other !== file) })),
          )}
          ${uploads.map((one) => {
            const state = one.error
              ? html`<span class="bad">${one.error}</span> <button type="button" class="plain" onClick=${one.again}>${t("Try again")}</button>`
              : html`<progress max="1" value=${one.share} aria-label=${t("Uploading {name}", { name: one.name })}></progress>`;
            return chip(one, state, () => {
              one.stop.abort();
              one.forget();
              setUploads(uploads.filter((other) => other !== one));
            });
          })}
        </ul>`
      : null}
    <textarea
      ref=${input}
      rows="1" dir="auto" aria-label=${t("Message")} aria-autocomplete="list"
      aria-controls=${completion.open ? "completions" : undefined}
      aria-activedescendant=${completion.active}
      placeholder=${running ? t("Write the next message") : t("Write a message, or / for commands")}
      enterkeyhint=${TOUCH.matches || !enterSends ? "enter" : "send"}
      value=${draft.text}
      onInput=${(/** @type {any} */ e) => change({ text: e.currentTarget.value })}
      onKeyDown=${keyed}
      onPaste=${(/** @type {ClipboardEvent} */ e) => {
        const files = [...(e.clipboardData?.files ?? [])];
        if (files.length) {
          e.preventDefault();
          attach(files);
        }
      }}
    ></textarea>
    <div class="tools">
      <input
        type="file" multiple hidden
        ref=${picker}
        onChange=${(/** @type {any} */ e) => {
          attach([...e.currentTarget.files]);
          e.currentTarget.value = "";
        }}
      />
      <button type="button" class="plain icon" aria-label=${t("Attach")} title=${t("Attach files")} onClick=${() => picker.current.click()}>
        <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
          <path d="m20 11.5-8 8a5.2 5.2 0 0 1-7.4-7.4l8.3-8.3a3.5 3.5 0 0 1 5 5l-8.3 8.2a1.7 1.7 0 0 1-2.4-2.4l7.4-7.4" />
        </svg>
      </button>
      ${Recorder && html`<${Recorder} attach=${attach} fail=${setProblem} />`}
      <span class="grow">${settings}</span>
      ${running &&
      html`<button
          type="button" class="plain"
          hidden=${!ready}
          title=${t("Add to the running turn (Ctrl Enter)")}
          onClick=${() => submit("steer")}
        >
          ${t("Steer")}
        </button>
        <button type="button" class="stop" onClick=${() => (TOUCH.matches || input.current.focus(), stop())}>
          <span class="square" aria-hidden="true"></span>${t("Stop")}
        </button>`}
      <button type="submit" class="primary" disabled=${!ready} title=${running ? t("Send after this turn") : t("Send")}>
        ${t("Send")}
      </button>
    </div>
  </form>`;
}

/** @param {{name: string, error?: string}} file @param {any} state @param {() => void} remove */
const chip = ({ name, error }, state, remove) =>
  html`<li class=${`chip${error ? " tone-bad" : ""}`}>
    ${cut(name, 32)} ${state}
    <button type="button" class="plain" aria-label=${t("Remove {name}", { name })} onClick=${remove}>✕</button>
  </li>`;

/** @param {HTMLTextAreaElement|null} area */
function grow(area) {
  if (!area || CSS.supports("field-sizing", "content")) return;
  area.rows = Math.min(area.value.split("\n").length, 12);
}

/** Completions shown at once, around the selected one. */
const MAX_SHOWN = 8;

/** @type {any[]|null} */
let commands = null;

/**
 * Complete a slash command and its arguments.
 * @param {string} id @param {boolean} known @param {string} text @param {(text: string) => void} set
 */
function useCompletion(id, known, text, set) {
  const [items, setItems] = useState(/** @type {any[]} */ ([]));
  const [at, setAt] = useState(0);
  const [closed, setClosed] = useState("");
  useEffect(() => {
    if (!/^\/[^\n]*$/.test(text) || text === closed) return setItems([]);
    let late = false;
    const timer = setTimeout(() => {
      find(known ? id : "", text).then((found) => {
        if (late) return;
        setItems(found);
        setAt(0);
      });
    }, text.includes(" ") ? 120 : 0);
    return () => {
      late = true;
      clearTimeout(timer);
    };
  }, [text, closed]);
  const close = () => {
    setItems([]);
    setClosed(text);
  };
  const take = (/** @type {any} */ item) => {
    if (!item) return;
    setClosed(item.completes ? "" : item.text);
    set(item.text + (item.completes ? " " : ""));
  };
  const open = items.length > 0;
  const from = Math.max(0, Math.min(at - MAX_SHOWN / 2, items.length - MAX_SHOWN));
  return {
    open,
    close,
    active: open ? `completion-${at}` : undefined,
    /** @param {KeyboardEvent} event @returns {boolean} whether the list handled the key */
    keyed(event) {
      if (!open) return false;
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step) setAt((at + step + items.length) % items.length);
      else if (event.key === "Tab" && !event.shiftKey) take(items[at]);
      else if (event.key === "Escape") close();
      else if (event.key === "Enter" && items[at].text !== text.trim() && !TOUCH.matches) take(items[at]);
      else return false;
      event.preventDefault();
      return true;
    },
    list: open
      ? html`<ul class="completions" id="completions" role="listbox" aria-label=${t("Commands")}>
          ${items.slice(from, from + MAX_SHOWN).map(
            (item, n) =>
              html`<li
                id=${`completion-${from + n}`}
                role="option"
                aria-posinset=${from + n + 1}
                aria-setsize=${items.length}
                aria-selected=${from + n === at ? "true" : "false"}
                onPointerDown=${(/** @type {Event} */ e) => (e.preventDefault(), take(item))}
              >
                <span class="mono">${item.text}</span> <span class="quiet">${item.help}</span>
              </li>`,
          )}
        </ul>`
      : null,
  };
}

/** @param {string} id @param {string} text */
async function find(id, text) {
  const session = id ? `session=${encodeURIComponent(id)}` : "";
  try {
    if (text.includes(" ")) {
      if (!id) return [];
      const query = `${session}&text=${encodeURIComponent(text)}`;
      const name = text.slice(0, text.indexOf(" "));
      const { items } = await call("GET", `/api/commands/complete?${query}`);
      return items.map((/** @type {any} */ one) => ({ text: `${name} ${one.text}`, help: one.help }));
    }
    commands ??= (await call("GET", `/api/commands?${session}`)).commands;
    const typed = text.toLowerCase();
    return (commands ?? [])
      .filter((one) => [one.name, ...(one.aliases ?? [])].some((name) => name.startsWith(typed)))
      .map((one) => ({ text: one.name, help: one.help, completes: one.completes }));
  } catch {
    return [];
  }
}
