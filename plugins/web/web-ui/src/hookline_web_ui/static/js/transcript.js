/** The log of a chat: messages, tool calls and results of commands. @module */
import { html, useLayoutEffect, useRef, useState } from "../vendor/preact.js";
import { StreamedMarkdown, copy, markdown } from "./markdown.js";
import { DiffView, Quoting, Visible } from "./text.js";
import { clock, gist, shortened, size } from "./util.js";
import { prose } from "./visible.js";

/** @typedef {import("./chat.js").Item} Item */
/** @typedef {import("./chat.js").Chat} Chat */
/**
 * @typedef {object} LogActions the actions of the log's buttons
 * @property {(item: Item) => void} edit
 * @property {(turn: string, from: HTMLElement) => void} details
 * @property {(item: Item) => void} resend
 * @property {(item: Item) => void} discard
 * @property {((item: Item) => void)|null} speak
 * @property {() => void} earlier
 * @property {() => void} again draw the log again
 */

/**
 * The drawn part of each answer.
 * @type {WeakMap<object, {texts: StreamedMarkdown[], behind: boolean, length: number}>}
 */
const growing = new WeakMap();
/** @type {WeakMap<object, {mark: string, vnode: any}>} */
const drawn = new WeakMap();
/** The log follows new text if it is scrolled to within so many pixels of its end. */
const FOLLOW_PIXELS = 48;
/** Milliseconds that drawing may take in one frame. */
const FRAME_MS = 16;
/** Characters to draw in one frame, adapted to the time that the last frames took. */
let pace = 4000;

/**
 * Render more of the answers, the last one first.
 * @param {Item[]} items
 * @returns {boolean} whether there is more to render
 */
function grow(items) {
  let room = pace;
  let more = false;
  for (const item of items.toReversed()) {
    if (item.role !== "assistant") continue;
    const known = growing.get(item) ?? { texts: [], behind: false, length: 0 };
    growing.set(item, known);
    Object.assign(known, { behind: false, length: 0 });
    const texts = (item.blocks ?? []).filter((block) => block.type === "text");
    for (const [n, { text }] of texts.entries()) {
      const one = (known.texts[n] ??= new StreamedMarkdown());
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
  const was = useRef({ follow: true, count: 0, seen: /** @type {any} */ (null), top: 0, at: -1 });
  /** Remember the visible message, to keep it in place while more is drawn above it. */
  const note = () => {
    const { left, top, width } = log.current.getBoundingClientRect();
    const [seen] = [8, 48, 120]
      .map((y) => document.elementFromPoint(left + width / 2, top + y)?.closest(".column > article"))
      .filter(Boolean);
    Object.assign(was.current, { seen, top: seen?.getBoundingClientRect().top });
  };
  const stay = () => {
    const { seen, top } = was.current;
    if (!seen?.isConnected) return;
    log.current.scrollTop += seen.getBoundingClientRect().top - top;
    was.current.at = log.current.scrollTop;
  };
  const show = () => {
    const box = log.current;
    was.current.follow = box.scrollHeight - box.scrollTop - box.clientHeight < FOLLOW_PIXELS;
    if (box.scrollTop !== was.current.at) note();
    jump.current.hidden = was.current.follow;
    if (box.scrollTop < 200 && chat.more && !earlier) actions.earlier();
  };
  const toEnd = () => {
    was.current.follow = true;
    log.current.scrollTop = log.current.scrollHeight;
    was.current.at = log.current.scrollTop;
    jump.current.hidden = true;
  };
  const items = chat.items.filter((item) => item.state !== "queued");
  const began = performance.now();
  const more = grow(items);
  useLayoutEffect(() => {
    const [box, before] = [log.current, was.current];
    const sent = items.at(-1)?.state === "sending" && items.length > before.count;
    if (before.follow || sent) toEnd();
    else stay();
    before.count = items.length;
    if (!more) return;
    const took = Math.max(performance.now() - began, 1);
    pace = Math.max(1000, Math.min(32000, pace * Math.max(0.5, Math.min(2, FRAME_MS / took))));
    actions.again();
  });
  useLayoutEffect(() => {
    const watcher = new ResizeObserver(() => (was.current.follow ? toEnd() : stay()));
    watcher.observe(log.current);
    watcher.observe(log.current.firstElementChild);
    return () => watcher.disconnect();
  }, []);
  return html`<div class="log-frame">
    <div
      class="log" role="log" aria-label="Conversation" aria-live="off" tabindex="0"
      ref=${log}
      onScroll=${show}
    >
      <div class="column">
        ${chat.more &&
        html`<button type="button" class="earlier" disabled=${earlier} onClick=${actions.earlier}>
          ${earlier ? "Loading …" : "Show earlier messages"}
        </button>`}
        ${empty}
        ${items.map((item, n) => itemNode(item, chat, actions, endsAnswer(items, n, chat)))}
      </div>
    </div>
    <button type="button" class="jump" hidden ref=${jump} onClick=${toEnd} data-jump>
      Jump to latest
    </button>
  </div>`;
}

/** Whether an item is the end of an answer and has its buttons. */
function endsAnswer(/** @type {Item[]} */ items, /** @type {number} */ n, /** @type {Chat} */ chat) {
  const item = items[n];
  if (item.role !== "assistant" || item.live || chat.turn?.id === item.turn) return false;
  const next = items.slice(n + 1, n + 4).find((one) => one.kind === "message");
  return next?.turn !== item.turn || next?.role !== "assistant";
}

/** @param {Item} item @param {Chat} chat @param {LogActions} actions @param {boolean} last */
function itemNode(item, chat, actions, last) {
  const text = growing.get(item);
  if (text?.behind) last = false; // not drawn completely
  const state = `${item.live} ${item.state} ${item.seq} ${chat.session?.mine}`;
  const mark = `${item.rev} ${last} ${text?.length} ${state}`;
  const known = drawn.get(item);
  if (known?.mark === mark) return known.vnode;
  let vnode;
  if (item.kind === "aside") vnode = html`<${Aside} key=${item.key} item=${item} />`;
  else if (item.kind === "notice") {
    vnode = html`<div key=${item.key} class=${`note tone-${item.tone}`}><${Quoting} text=${item.text ?? ""} /></div>`;
  } else if (item.role === "user") {
    vnode = html`<${UserMessage} key=${item.key} ...${{ item, chat, actions, mark }} />`;
  } else {
    vnode = html`<${Answer} key=${item.key} ...${{ item, chat, actions, last, mark }} />`;
  }
  drawn.set(item, { mark, vnode });
  return vnode;
}

/** @param {Item} item */
const words = (item) =>
  (item.blocks ?? [])
    .filter((block) => block.type === "text")
    .map((block) => block.text)
    .join("\n\n");

/** A long message of the user is cut at first. */
const [FOLD_LINES, FOLD_CHARS] = [40, 4000];

/** @param {{item: Item, chat: Chat, actions: LogActions}} props */
function UserMessage({ item, chat, actions }) {
  const mine = chat.session?.mine !== false;
  const [whole, show] = useState(false);
  const text = words(item);
  const begins = whole ? text : text.split("\n", FOLD_LINES).join("\n").slice(0, FOLD_CHARS);
  const shown = new Set(item.blocks?.map((block) => block.file));
  return html`<article
    class="message user" data-role="user"
    data-message=${item.seq}
    data-state=${item.state}
    aria-label=${item.steer ? "You, added to the running turn" : "You"}
  >
    <div class="bubble">
      ${item.steer && html`<span class="quiet small">Added to the running turn</span>`}
      <div dir="auto">${prose(begins)}${begins.length < text.length && " …"}</div>
      ${begins.length < text.length &&
      html`<button type="button" onClick=${() => show(true)}>Show all ${text.length.toLocaleString("en")} characters</button>`}
      ${(item.blocks ?? []).filter((block) => block.type === "image").map((block) => picture(block))}
      <${Files} files=${item.files?.filter((file) => !shown.has(file.id))} />
    </div>
    <footer>
      ${item.state === "sending" && html`<span class="quiet">Sending …</span>`}
      ${item.state === "failed" &&
      html`<span class="bad">Not sent: ${item.error}</span>
        <button type="button" class="plain" onClick=${() => actions.resend(item)}>Send again</button>
        <button type="button" class="plain" onClick=${() => actions.discard(item)}>Discard</button>`}
      ${item.state === "stored" &&
      html`<time class="quiet">${clock(item.at)}</time>
        ${item.seq != null &&
        !item.steer &&
        html`<button type="button" class="plain" onClick=${() => actions.edit(item)}>
          ${mine ? "Edit" : "Continue here"}
        </button>`}`}
    </footer>
  </article>`;
}

/** @param {{item: Item, chat: Chat, actions: LogActions, last: boolean}} props */
function Answer({ item, chat, actions, last }) {
  const texts = growing.get(item)?.texts ?? [];
  const hasText = (item.blocks ?? []).some((block) => block.type === "text" && block.text);
  let count = 0;
  return html`<article
    class=${`message assistant${item.live ? " live" : ""}${item.stop === "error" ? " broke" : ""}`}
    data-role="assistant"
    data-message=${item.seq}
    aria-label="Hookline"
  >
    ${(item.blocks ?? []).map((block, n) => {
      if (block.type === "text") return html`<div class="md" key=${n}>${texts[count++]?.nodes}</div>`;
      if (block.type === "thinking") return html`<${Thinking} key=${n} text=${block.text} />`;
      if (block.type === "image") return picture(block);
      if (block.type !== "tool_call") return null;
      return html`<${ToolCard} key=${block.id} tool=${chat.tools.get(block.id)} />`;
    })}
    <${Files} files=${item.files} speech=${true} />
    ${last &&
    html`<footer>
      ${hasText &&
      html`<button type="button" class="plain" onClick=${(/** @type {any} */ e) => copy(e, words(item))}>
        Copy
      </button>`}
      ${item.turn &&
      html`<button
        type="button" class="plain" data-details
        onClick=${(/** @type {any} */ e) => actions.details(/** @type {string} */ (item.turn), e.currentTarget)}
      >
        Details
      </button>`}
      ${actions.speak &&
      hasText &&
      html`<button type="button" class="plain" onClick=${() => actions.speak?.(item)}>Listen</button>`}
      <time class="quiet">${clock(item.at)}</time>
    </footer>`}
  </article>`;
}

/** @param {{text: string}} props */
const Thinking = ({ text }) =>
  html`<details class="thinking">
    <summary>Reasoning</summary>
    <div class="md quiet">${markdown(text)}</div>
  </details>`;

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
      <span class="unseen">${state === "runs" ? "running" : state}</span>
      ${tool.seconds != null && tool.seconds >= 0.1
        ? html`<span class="took">${tool.seconds.toFixed(1)} s</span>`
        : null}
    </summary>
    <div class="inside">
      ${diff
        ? html`<${DiffView} diff=${diff} />`
        : html`<pre class="long" tabindex="0" aria-label="Arguments"><${Visible}
            text=${written(tool.arguments)}
          /></pre>`}
      ${tool.text &&
      html`<pre class="long" tabindex="0" aria-label="Result"><${Visible} text=${tool.text} /></pre>`}
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
  html`<section class="aside" aria-label="Command">
    ${item.command && html`<p class="mono small"><${Visible} text=${item.command} /></p>`}
    ${item.text == null
      ? html`<p class="quiet small">…</p>`
      : html`<div class="md">${markdown(item.text, true)}</div>`}
  </section>`;

/** @param {{file?: string|null}} block @param {any} [alt] */
const picture = ({ file }, alt) =>
  file
    ? html`<a href=${`/api/files/${file}`} target="_blank">
        <img class="picture" src=${`/api/files/${file}`} alt=${alt || "attached image"} loading="lazy" />
      </a>`
    : html`<span class="quiet small">[image]</span>`;

/** @param {{files?: any[], speech?: boolean}} props */
function Files({ files, speech }) {
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
        <a class="file" href=${path} download=${file.name}>
          <${Visible} text=${file.name ?? ""} /> ${file.size != null && html`<span class="quiet">${size(file.size)}</span>`}
        </a>
      </li>`;
    })}
  </ul>`;
}
