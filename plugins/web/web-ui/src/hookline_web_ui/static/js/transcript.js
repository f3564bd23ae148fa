/** The log of a chat: messages, tool calls and results of commands. @module */
import { html, useLayoutEffect, useRef, useState } from "../vendor/preact.js";
import { copy, copyFormatted } from "./copy.js";
import { Editor, VersionSwitch } from "./edit.js";
import { N_, t } from "./i18n.js";
import { StreamedMarkdown, markdown } from "./markdown.js";
import { unfold } from "./print.js";
import { Until } from "./question.js";
import { DiffView, Quoting, Visible, picture } from "./text.js";
import { clock, duration, gist, shortened, size } from "./util.js";
import { prose } from "./visible.js";
import { SHEET, Written, writtenFiles } from "./written.js";

/** @typedef {import("./chat.js").Item} Item */
/** @typedef {import("./chat.js").Chat} Chat */
/**
 * @typedef {object} LogActions the actions of the log's buttons
 * @property {(item: Item) => void} edit
 * @property {string} editing the key of the message that is being edited
 * @property {(item: Item, text: string, files: any[]) => Promise<void>} reword
 * @property {(item: Item) => void} regenerate answer the message of this turn again
 * @property {(id: string) => void} open another version
 * @property {(turn: string, from: HTMLElement) => void} details
 * @property {(place: import("./files.js").Place, from: HTMLElement) => void} files show a file
 * @property {(item: Item) => void} resend
 * @property {(item: Item) => void} discard
 * @property {((item: Item) => void)|null} speak
 * @property {() => void} earlier
 * @property {() => void} again draw the log again
 */

/** @param {Item} item @returns {string[]} */
const texts = (item) => (item.blocks ?? []).filter((block) => block.type === "text").map((block) => block.text);

/**
 * The drawn part of each answer.
 * @type {WeakMap<object, {texts: StreamedMarkdown[], behind: boolean, length: number, rev: number}>}
 */
const growing = new WeakMap();
/** @type {WeakMap<object, {mark: string, vnode: any}>} */
const drawn = new WeakMap();
/** The log follows new text if it is scrolled to within so many pixels of its end. */
const FOLLOW_PIXELS = 48;
/** How many entries are drawn, and by how many these change when the reader comes to their first or last one. */
const [DRAWN, STEP] = [150, 50];
/** Milliseconds that drawing may take in one frame. */
const FRAME_MS = 16;
/** Characters to draw in one frame, adapted to the time that the last frames took. */
let pace = 4000;

/**
 * Render more of the answers, the last one first.
 * @param {Item[]} items
 * @param {Item[]} all whose files the answers may show
 * @param {number} room how many characters to render
 * @returns {boolean} whether there is more to render
 */
function grow(items, all, room) {
  let more = false;
  const files = () => all.flatMap((item) => item.files ?? []);
  for (const item of items.toReversed()) {
    if (item.role !== "assistant") continue;
    const known = growing.get(item) ?? { texts: [], behind: true, length: 0, rev: 0 };
    if (!known.behind && known.rev === item.rev) continue;
    growing.set(item, known);
    Object.assign(known, { behind: false, length: 0, rev: item.rev });
    for (const [n, text] of texts(item).entries()) {
      const one = (known.texts[n] ??= new StreamedMarkdown());
      one.files = files;
      const source = text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text;
      const before = one.text.length;
      if (room > 0) room -= Math.max(one.set(source, !item.live, room).text.length - before, 0);
      known.behind ||= one.text !== source;
      known.length += one.text.length;
    }
    more ||= known.behind;
  }
  return more;
}

/** @param {{chat: Chat, actions: LogActions, earlier: boolean, empty: any}} props */
export function Log({ chat, actions, earlier, empty }) {
  const log = useRef(/** @type {any} */ (null));
  const jump = useRef(/** @type {any} */ (null));
  const was = useRef({ follow: true, count: 0, from: 0, items: /** @type {Item[]} */ ([]), seen: /** @type {any} */ (null), place: 0, at: -1 });
  const [whole, setWhole] = useState(false); // while it is printed
  const most = whole ? Infinity : DRAWN;
  const all = chat.items.filter((item) => item.state !== "queued");
  const latest = Math.max(all.length - most, 0);
  const known = chat.top ? all.indexOf(chat.top) : -1;
  const from = known < 0 ? latest : Math.min(known, latest);
  const items = all.slice(from, from + most);
  const place = () => was.current.seen.getBoundingClientRect().top + log.current.scrollTop;
  /** Remember what is visible, to keep it in place while more is drawn above it. */
  const note = () => {
    const { left, top, width } = log.current.getBoundingClientRect();
    [was.current.seen] = [8, 48, 120]
      .map((y) => document.elementFromPoint(left + width / 2, top + y)?.closest(".part, .lot, .column > article"))
      .filter(Boolean);
    if (was.current.seen) was.current.place = place();
  };
  const stay = (top = log.current.scrollTop) => {
    if (!was.current.seen?.isConnected) return;
    const moved = place() - was.current.place;
    was.current.place += moved;
    log.current.scrollTop = top + moved;
    was.current.at = log.current.scrollTop;
  };
  const show = () => {
    const box = log.current;
    const below = box.scrollHeight - box.scrollTop - box.clientHeight;
    was.current.follow = from === latest && below < FOLLOW_PIXELS;
    chat.top = was.current.follow ? null : (chat.top ?? items[0]);
    if (box.scrollTop !== was.current.at) {
      stay();
      note();
    }
    jump.current.hidden = was.current.follow;
    if (items.some((item) => item.key === actions.editing)) return; // what is typed would be lost
    if (box.scrollTop < 200 && from > 0) move(-STEP);
    else if (below < 200 && from < latest) move(STEP);
    else if (box.scrollTop < 200 && chat.more && !earlier) actions.earlier();
  };
  const move = (/** @type {number} */ by) => {
    chat.top = all[Math.max(from + by, 0)];
    actions.again();
  };
  const toEnd = () => {
    was.current.follow = true;
    chat.top = null;
    if (from < latest) return actions.again();
    log.current.scrollTop = log.current.scrollHeight;
    was.current.at = log.current.scrollTop;
    jump.current.hidden = true;
  };
  const begun = chat.beginnings();
  const began = performance.now();
  const more = grow(items, all, whole ? Infinity : pace);
  const top = log.current?.scrollTop;
  useLayoutEffect(() => {
    const [box, before] = [log.current, was.current];
    const sent = all.at(-1)?.state === "sending" && all.length > before.count;
    if (sent || (before.follow && from === latest)) toEnd();
    else {
      before.follow = false;
      if (from !== before.from && !before.seen?.isConnected) box.scrollTop = box.scrollHeight / 2; // what was read is not drawn any more
      else stay(top);
      if (box.scrollTop !== top) before.at = box.scrollTop; // moved by the drawing, not by the reader
    }
    for (const item of before.items) if (!items.includes(item)) growing.delete(item), drawn.delete(item);
    Object.assign(before, { count: all.length, from, items });
    if (!more) return;
    const took = Math.max(performance.now() - began, 1);
    pace = Math.max(1000, Math.min(8000, pace * Math.max(0.5, Math.min(1.3, FRAME_MS / took))));
    actions.again();
  });
  useLayoutEffect(() => {
    const watcher = new ResizeObserver(() => (was.current.follow || log.current.scrollHeight <= log.current.clientHeight ? toEnd() : stay()));
    watcher.observe(log.current);
    watcher.observe(log.current.firstElementChild);
    const ended = new AbortController();
    for (const name of ["beforeprint", "afterprint"]) addEventListener(name, () => setWhole(name === "beforeprint"), { signal: ended.signal });
    return () => (watcher.disconnect(), ended.abort());
  }, []);
  useLayoutEffect(() => (whole ? unfold() : undefined), [whole]);
  return html`<div class="log-frame">
    <div
      class="log" role="log" aria-label=${t("Conversation")} aria-live="off" tabindex="0"
      ref=${log} onScroll=${show}
    >
      <div class="column">
        ${(chat.more || from > 0) &&
        html`<button type="button" class="earlier" disabled=${earlier} onClick=${from > 0 ? () => move(-STEP) : actions.earlier}>
          ${earlier ? t("Loading …") : t("Show earlier messages")}
        </button>`}
        ${empty}
        ${items.map((item, n) => itemNode(item, chat, actions, endsAnswer(all, from + n, chat), begun.get(item.turn) ?? -1))}
      </div>
    </div>
    <button type="button" class="jump" hidden ref=${jump} onClick=${toEnd} data-jump>
      ${t("Jump to latest")}
    </button>
  </div>`;
}

/** Whether an item is of the turn that waits for an answer. @param {Chat} chat @param {Item} item */
const isParked = (chat, item) =>
  chat.session?.state === "asking" && chat.items.findLast((one) => one.turn)?.turn === item.turn;

/** Whether an item is the end of an answer and has its buttons. */
function endsAnswer(/** @type {Item[]} */ items, /** @type {number} */ n, /** @type {Chat} */ chat) {
  const item = items[n];
  if (item.role !== "assistant" || item.live || chat.turn?.id === item.turn || isParked(chat, item)) return false;
  let next = n + 1;
  while (items[next] && items[next].kind !== "message") next += 1;
  return items[next]?.turn !== item.turn || items[next]?.role !== "assistant";
}

/** @param {Item} item @param {Chat} chat @param {LogActions} actions @param {boolean} last @param {number} seq of the message that began the turn, or -1 */
function itemNode(item, chat, actions, last, seq) {
  const text = growing.get(item);
  const asked = chat.isAsked(item);
  if (text?.behind || asked) last = false; // not drawn completely, or the dock shows it
  const version = chat.versions.get(seq);
  const state = `${item.live} ${item.state} ${item.seq} ${chat.session?.mine} ${actions.editing === item.key}`;
  const mark = `${item.rev} ${last} ${asked} ${text?.length} ${state} ${seq} ${version?.ids} ${version?.current}`;
  const known = drawn.get(item);
  if (known?.mark === mark) return known.vnode;
  let vnode;
  if (item.kind === "aside") vnode = html`<${Aside} key=${item.key} item=${item} />`;
  else if (item.kind === "notice") {
    vnode = html`<div key=${item.key} class=${`note tone-${item.tone}`}><${Quoting} text=${item.text ?? ""} /></div>`;
  } else if (item.role === "user") {
    vnode = html`<${UserMessage} key=${item.key} ...${{ item, chat, actions, mark, version: version?.edited ? version : undefined }} />`;
  } else {
    const again = chat.session?.mine !== false && seq >= 0;
    const versions = version?.edited ? undefined : version;
    vnode = html`<${Answer} key=${item.key} ...${{ item, chat, actions, last, asked, mark, again, version: versions }} />`;
  }
  drawn.set(item, { mark, vnode });
  return vnode;
}

/** @param {Item} item */
const words = (item) => texts(item).join("\n\n");

/** A long message of the user is cut at first. */
const [FOLD_LINES, FOLD_CHARS] = [40, 4000];

/** @param {{item: Item, chat: Chat, actions: LogActions, version: any}} props */
function UserMessage({ item, chat, actions, version }) {
  const mine = chat.session?.mine !== false;
  const [whole, show] = useState(false);
  const text = words(item);
  const begins = whole ? text : text.split("\n", FOLD_LINES).join("\n").slice(0, FOLD_CHARS);
  const shown = new Set(item.blocks?.map((block) => block.file));
  if (actions.editing === item.key) {
    const send = (/** @type {string} */ changed, /** @type {any[]} */ files) => actions.reword(item, changed, files);
    return html`<article class="message user" data-role="user" aria-label=${t("You")}>
      <${Editor} ...${{ text, files: item.files ?? [], send, cancel: () => actions.edit(item) }} />
    </article>`;
  }
  return html`<article
    class="message user" data-role="user"
    data-message=${item.seq}
    data-state=${item.state}
    aria-label=${item.steer ? t("You, added to the running turn") : t("You")}
  >
    <div class="bubble">
      ${item.steer && html`<span class="quiet small">${t("Added to the running turn")}</span>`}
      <div dir="auto">${prose(begins)}${begins.length < text.length && " …"}</div>
      ${begins.length < text.length &&
      html`<button type="button" data-unfold onClick=${() => show(true)}>${t("Show all {n} characters", { n: text.length })}</button>`}
      ${(item.blocks ?? []).filter((block) => block.type === "image").map((block) => picture(block))}
      <${Files} show=${actions.files} files=${item.files?.filter((file) => !shown.has(file.id))} />
    </div>
    <footer>
      ${item.state === "sending" &&
      (item.retry_at
        ? html`<span class="bad">${item.error} <${Until} until=${item.retry_at} sentence=${N_("Sending again in {n} s.")} /></span>
            <button type="button" class="plain" onClick=${() => actions.discard(item)}>${t("Discard")}</button>`
        : html`<span class="quiet">${t("Sending …")}</span>`)}
      ${item.state === "failed" &&
      html`<span class="bad">${t("Not sent: {error}", { error: item.error ?? "" })}</span>
        <button type="button" class="plain" onClick=${() => actions.resend(item)}>${t("Send again")}</button>
        <button type="button" class="plain" onClick=${() => actions.discard(item)}>${t("Discard")}</button>`}
      ${item.state === "stored" &&
      html`<${VersionSwitch} ...${{ version, open: actions.open }} />
        <time class="quiet">${clock(item.at)}</time>
        ${item.seq != null &&
        !item.steer &&
        html`<button type="button" class="plain" onClick=${() => actions.edit(item)}>
          ${mine ? t("Edit") : t("Continue here")}
        </button>`}`}
    </footer>
  </article>`;
}

/** @param {{item: Item, chat: Chat, actions: LogActions, last: boolean, asked: boolean, again: boolean, version: any}} props */
function Answer({ item, chat, actions, last, asked, again, version }) {
  const drawnTexts = growing.get(item)?.texts ?? [];
  const hasText = texts(item).some(Boolean);
  let count = 0;
  if (asked && item.blocks?.every((block) => block.type === "text")) return null;
  return html`<article
    class=${`message assistant${item.live ? " live" : ""}`}
    data-role="assistant"
    data-message=${item.seq}
    aria-label="Hookline"
  >
    ${(item.blocks ?? []).map((block, n) => {
      if (block.type === "text") return asked ? null : html`<div class="md" key=${n}>${drawnTexts[count++]?.nodes}</div>`;
      if (block.type === "thinking") return html`<${Thinking} key=${n} text=${block.text} />`;
      if (block.type === "image") return picture(block);
      if (block.type !== "tool_call") return null;
      return html`<${ToolCard} key=${block.id} tool=${chat.tools.get(block.id)} />`;
    })}
    <${Files} show=${actions.files} files=${item.files?.filter((file) => !drawnTexts.some((one) => one.shown.has(file.id)))} />
    ${last && html`<${Written} paths=${writtenFiles(chat, item.turn)} show=${actions.files} />`}
    ${item.error &&
    html`<div class="broke">
      <p><strong>${hasText ? t("The answer broke off.") : t("There is no answer.")}</strong> <${Quoting} text=${item.error} /></p>
      ${again && html`<button type="button" onClick=${() => actions.regenerate(item)}>${t("Try again")}</button>`}
    </div>`}
    ${last &&
    html`<footer>
      <${VersionSwitch} ...${{ version, open: actions.open }} />
      ${hasText &&
      html`<button type="button" class="plain" onClick=${(/** @type {any} */ e) => copyFormatted(e, words(item))}>
          ${t("Copy")}
        </button>
        <button type="button" class="plain" data-markdown onClick=${(/** @type {any} */ e) => copy(e, words(item))}>
          ${t("Copy as Markdown")}
        </button>`}
      ${again &&
      !item.error &&
      html`<button type="button" class="plain" onClick=${() => actions.regenerate(item)}>${t("Regenerate")}</button>`}
      ${item.turn &&
      html`<button
        type="button" class="plain" data-details
        onClick=${(/** @type {any} */ e) => actions.details(/** @type {string} */ (item.turn), e.currentTarget)}
      >
        ${t("Details")}
      </button>`}
      ${actions.speak &&
      hasText &&
      html`<button type="button" class="plain" onClick=${() => actions.speak?.(item)}>${t("Listen")}</button>`}
      <time class="quiet">${clock(item.at)}</time>
    </footer>`}
  </article>`;
}

/** @param {{text: string}} props */
const Thinking = ({ text }) =>
  html`<details class="thinking"><summary>${t("Reasoning")}</summary><div class="md quiet">${markdown(text)}</div></details>`;

/** @param {{tool: import("./chat.js").Tool|undefined}} props */
function ToolCard({ tool }) {
  if (!tool) return null;
  const state = tool.ok == null ? "runs" : tool.ok ? "done" : "failed";
  const diff = tool.diff ?? edited(tool.arguments);
  return html`<details class=${`tool ${state}`} data-tool=${tool.name}>
    <summary>
      <span class="sign" aria-hidden="true">${{ runs: "", done: "✓", failed: "✕" }[state]}</span>
      <span class="name"><${Visible} text=${tool.name} /></span>
      <span class="gist"><${Visible} text=${shortened(gist(tool.arguments), 120)} /></span>
      <span class="unseen">${{ runs: t("running"), done: t("done"), failed: t("failed") }[state]}</span>
      ${tool.seconds != null && tool.seconds >= 0.1 && html`<span class="took">${duration(tool.seconds * 1000)}</span>`}
    </summary>
    <div class="inside">
      ${diff
        ? html`<${DiffView} diff=${diff} />`
        : html`<pre class="long" tabindex="0" aria-label=${t("Arguments")}><${Visible} text=${written(tool.arguments)} /></pre>`}
      ${tool.text &&
      html`<pre class="long" tabindex="0" aria-label=${t("Result")}><${Visible} text=${tool.text} /></pre>`}
    </div>
  </details>`;
}

/** The diff of an edit, if the arguments have both texts. @param {any} args */
function edited(args) {
  if (typeof args?.old_string !== "string" || typeof args.new_string !== "string") return null;
  return { before: args.old_string, after: args.new_string, name: args.path ?? "" };
}

/** @param {unknown} args */
function written(args) {
  if (args == null || typeof args !== "object") return String(args ?? "");
  const entries = Object.entries(args);
  if (entries.length === 1 && typeof entries[0][1] === "string") return entries[0][1];
  return entries
    .map(([name, value]) => {
      const text = typeof value === "string" ? value : JSON.stringify(value, null, 1);
      return text.includes("\n") ? `${name}:\n${text}` : `${name}: ${text}`;
    })
    .join("\n");
}

/** @param {{item: Item}} props */
const Aside = ({ item }) =>
  html`<section class="aside" aria-label=${t("Command")}>
    ${item.command && html`<p class="mono small"><${Visible} text=${item.command} /></p>`}
    ${item.text == null ? html`<p class="quiet small">…</p>` : html`<div class="md">${markdown(item.text, true)}</div>`}
  </section>`;

/** @param {{files?: any[], show: LogActions["files"]}} props */
function Files({ files, show }) {
  if (!files?.length) return null;
  return html`<ul class="files">
    ${files.map((file) => {
      const path = `/api/files/${file.id}`;
      if (file.kind === "audio" || file.kind === "voice") {
        return html`<li><audio controls preload="none" src=${path}></audio></li>`;
      }
      if (file.kind === "image" || file.mime?.startsWith("image/")) {
        return html`<li>${picture({ file: file.id }, file.caption || file.name)}</li>`;
      }
      return html`<li>
        <button type="button" class="file" onClick=${(/** @type {any} */ e) => show({ file }, e.currentTarget)}>
          ${SHEET}<${Visible} text=${file.name ?? ""} /> ${file.size != null && html`<span class="quiet">${size(file.size)}</span>`}
        </button>
        <a class="button plain" href=${path} download=${file.name} aria-label=${t("Download {name}", { name: file.name })} title=${t("Download")}>↓</a>
      </li>`;
    })}
  </ul>`;
}
