/** The chat page: loads the chat, applies events, and sends messages. @module */
import { html, render, useState } from "../vendor/preact.js";
import { ApiError, call } from "./api.js";
import { Chat } from "./chat.js";
import { Composer, keepDraft } from "./composer.js";
import { Header } from "./header.js";
import { OpenQuestions } from "./inbox_count.js";
import { QuestionDock, useNow } from "./question.js";
import * as shell from "./shell.js";
import { Stream } from "./stream.js";
import { Log } from "./transcript.js";
import { uuid } from "./util.js";

const main = /** @type {HTMLElement} */ (document.getElementById("main"));
const TAIL = 50;
/** Queued messages to show. */
const MAX_QUEUE_SHOWN = 20;
const STEPS = {
  ...{ model: "Calling the model", thinking: "Thinking", answering: "Writing", waiting: "Waiting" },
  tool: "Using a tool",
};

/** The state of the page other than the chat. */
let ui = {
  ...{ stream: "", problem: /** @type {any} */ (null), earlier: false },
  ...{ details: "", answerProblem: "", given: { text: "", stamp: 0 }, expired: false },
};
/** Draws the page again; set when it is first drawn. */
let draw = () => {};
/** @param {Partial<typeof ui>} changed */
const set = (changed) => {
  ui = { ...ui, ...changed };
  draw();
};

let server = { boot: "", cursor: "", role: "", voice: {}, limits: { file: 25e6, text: 100000 }, questions: /** @type {any[]} */ ([]) };
let known = Boolean(main.dataset.session);
/** Events received while a snapshot is loading; null otherwise. @type {Array<[any, string]>|null} */
let held = null;
/** @type {HTMLElement|null} */
let opener = null;

/** The ids of messages sent from this page. */
const sent = new Set();
let due = false;
function changed() {
  keepOutbox();
  if (due) return;
  due = true;
  const frame = document.hidden ? (/** @type {any} */ f) => setTimeout(f, 200) : requestAnimationFrame;
  frame(() => ((due = false), draw()));
}

const inbox = new OpenQuestions(() => draw());
const chat = new Chat(main.dataset.session || uuid(), changed, main.dataset.person);
const stream = new Stream({
  event: receive,
  state: (state) => {
    set({ stream: state });
    if (state === "open") resendAll();
  },
});
addEventListener("expired", () => set({ expired: true }));

/** @param {any} event @param {string} id */
function receive(event, id) {
  updateShell(event);
  if (event.type === "resync") {
    if (event.session == null || event.session === chat.id) snapshot();
    if (event.session == null) call("GET", "/api/state").then((state) => inbox.load(state.questions), () => {});
    return;
  }
  if (event.session !== chat.id) return;
  if (event.type === "session" && event.deleted) return shell.go("/");
  const next = event.row?.successor ?? (sent.has(event.message_id) && event.go);
  if (next) return shell.go(`/chat/${encodeURIComponent(next)}`);
  if (held) held.push([event, id]);
  else if (!chat.apply(event, id)) snapshot();
}

/** Update the list of chats and the number of open questions. @param {any} event */
function updateShell(event) {
  const id = event.session;
  inbox.apply(event);
  if (event.type === "session") shell.putRecent({ id, ...event.row }, { deleted: event.deleted });
  else if (event.type === "title") shell.changeRecent(id, { title: event.title });
  else if (event.type === "state") {
    const change = { state: event.state, updated: event.ts, ...(event.state === "running" && { question: false }) };
    if (!shell.changeRecent(id, change) && id !== chat.id) shell.loadRecent();
  } else if (event.type === "question") {
    if (!event.elsewhere) shell.changeRecent(id, { question: true }) || shell.loadRecent();
  } else if (event.type === "answered") shell.changeRecent(id, { question: false });
}

const address = (/** @type {string} */ rest = "") =>
  `/api/sessions/${encodeURIComponent(chat.id)}${rest}`;

let loading = false;
/** Load the stored chat; events that arrive meanwhile are applied afterwards. */
async function snapshot() {
  if (!known || loading) return;
  loading = true;
  held = held ?? [];
  let wait = 400;
  for (;;) {
    try {
      const stored = await call("GET", address(`?tail=${TAIL}`));
      chat.load(stored);
      set({ problem: null });
      break;
    } catch (error) {
      const failed = /** @type {ApiError} */ (error);
      if (failed.status === 404 && chat.sending.size) {
        known = false; // its first message has not arrived yet
        break;
      }
      if (!failed.temporary) {
        set({ problem: failed });
        break;
      }
      if (!chat.loaded) set({ problem: failed });
      await new Promise((done) => setTimeout(done, failed.retry * 1000 || wait));
      wait = Math.min(wait * 2, 8000);
    }
  }
  loading = false;
  const pending = held;
  held = null;
  for (const [event, id] of pending) if (!chat.apply(event, id)) return snapshot();
  if (chat.loaded) stream.want({ [chat.id]: chat.cursor });
}

async function earlier() {
  const first = chat.items.find((item) => item.seq != null)?.seq;
  if (first == null || ui.earlier) return;
  set({ earlier: true });
  try {
    chat.prepend(await call("GET", address(`?tail=${TAIL}&before=${first}`)));
  } finally {
    set({ earlier: false });
  }
}

const OUTBOX = () => `outbox:${chat.id}`;
let kept = true;
function keepOutbox() {
  if (!kept && !chat.sending.size) return;
  kept = chat.sending.size > 0;
  const waiting = [...chat.sending.values()].map(({ id, files, blocks, mode }) => ({ id, files, mode, text: blocks?.[0].text }));
  try {
    if (waiting.length) sessionStorage.setItem(OUTBOX(), JSON.stringify(waiting));
    else sessionStorage.removeItem(OUTBOX());
  } catch {
    // Storage is full or disabled: a reload before the server confirms loses the message.
  }
}

/** @param {string} text @param {any[]} files @param {string} mode */
function send(text, files, mode) {
  const item = chat.send(uuid(), text, files, mode);
  sent.add(item.id);
  if (!main.dataset.session) {
    main.dataset.session = chat.id;
    history.replaceState(null, "", `/chat/${chat.id}`);
  }
  deliver(/** @type {any} */ (item));
}

/** @param {any} item */
async function deliver(item) {
  item.state = "sending";
  item.rev += 1;
  const cursor = server.cursor;
  for (let tries = 0; ; tries += 1) {
    try {
      const files = item.files.map((/** @type {any} */ file) => file.id);
      const body = { message_id: item.id, text: item.blocks[0].text, files, mode: item.mode };
      const accepted = await call("POST", address("/messages"), body);
      if (accepted.session && accepted.session !== chat.id) {
        chat.forget(item.id);
        return shell.go(`/chat/${encodeURIComponent(accepted.session)}`);
      }
      if (!known) {
        known = true;
        const first_words = item.blocks[0].text.slice(0, 160);
        shell.putRecent({ id: chat.id, first_words, updated: item.at });
        shell.setCurrent(chat.id);
        stream.want({ [chat.id]: stream.last || cursor });
        await snapshot();
        shell.changeRecent(chat.id, { state: chat.session?.state });
      }
      return;
    } catch (error) {
      const failed = /** @type {ApiError} */ (error);
      if (!failed.temporary || tries >= 2) {
        return chat.failed(item.id, failed.message);
      }
      await new Promise((done) => setTimeout(done, failed.retry * 1000 || 400 * 2 ** tries));
    }
  }
}

/** Send failed messages again under the same ids, once the server can be reached. */
function resendAll() {
  for (const item of chat.sending.values()) if (item.state === "failed") deliver(item);
}

/** @param {string} choice */
async function answer(choice) {
  const question = chat.question;
  if (!question) return;
  set({ answerProblem: "" });
  try {
    await call("POST", address("/answer"), { question: question.id, choice });
  } catch (error) {
    const failed = /** @type {ApiError} */ (error);
    set({ answerProblem: failed.message });
    if (failed.status === 409 || failed.status === 404) snapshot();
  }
}

/** Show an error in the log. @param {any} error */
function showError(error) {
  chat.note(Date.now() / 1000, error.message, "bad");
  changed();
}

/** @param {import("./chat.js").Item} item */
async function edit(item) {
  try {
    const made = await call("POST", address("/branch"), { before: item.seq });
    keepDraft(made.id, { text: made.text, files: made.files });
    shell.go(`/chat/${encodeURIComponent(made.id)}`);
  } catch (error) {
    showError(error);
  }
}

/** Components that are loaded on demand. @type {{Details?: any, Recorder?: any}} */
const parts = {};

/** @param {string} turn @param {HTMLElement|null} from */
async function details(turn, from) {
  opener = from;
  if (!parts.Details) {
    const href = import.meta.url.replace("js/main.js", "views.css");
    document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href }));
    parts.Details = (await import("./details.js")).Details;
  }
  set({ details: turn });
}

function closeDetails() {
  set({ details: "" });
  if (opener?.isConnected) opener.focus();
  else focus(".composer textarea");
}

const stop = () => call("POST", address("/stop")).catch(showError);

/** Read an answer aloud; the recording stays below it. @param {import("./chat.js").Item} item */
async function speak(item) {
  try {
    const { files } = await call("POST", address("/speech"), { message: item.seq });
    const known = new Set(item.files?.map((file) => file.id));
    item.files = [...(item.files ?? []), ...files.filter((/** @type {any} */ one) => !known.has(one.id))];
    item.rev += 1;
    changed();
    const sound = () => /** @type {any} */ (document.querySelector(`audio[src$="${files[0]?.id}"]`))?.play();
    setTimeout(() => sound()?.catch(() => {}), 100); // autoplay may be blocked: the person can press play
  } catch (error) {
    showError(error);
  }
}

const actions = {
  ...{ edit, details, earlier, again: changed, speak: /** @type {any} */ (null) },
  resend: deliver,
  discard: (/** @type {any} */ item) => {
    chat.forget(item.id);
    set({ given: { text: item.blocks[0].text, stamp: Date.now() } });
  },
};

/** @param {{until: number}} props Unix time in seconds */
const Countdown = ({ until }) => `in ${Math.max(0, Math.ceil(until - useNow()))} s`;

/** The state of the turn: a status for screen readers, and visible details. */
function Status() {
  const { stream: state, expired } = ui;
  const turn = chat.turn;
  let status = "";
  /** @type {any} */
  let more = "";
  if (state === "waiting") status = "Offline. Sent messages are kept. Reconnecting …";
  else if (chat.question) status = chat.question.may_answer ? "Waiting for your answer" : "Waiting for an admin's answer";
  else if (chat.running) {
    status = "Working";
    more = (STEPS[/** @type {"model"} */ (turn?.step)] ?? "Working") + (turn?.about ? `: ${turn.about}` : " …");
    if (turn?.retry_at) more = html`${more}; trying again <${Countdown} until=${turn.retry_at} />`;
  } else if (chat.results.size) status = "Done";
  return html`<div class=${`state${status === "Done" && !expired ? " unseen" : ""}`} data-busy=${status === "Working"}>
    <span class="pulse" aria-hidden="true"></span>
    <span role="status" class=${more ? "unseen" : ""}>${status}</span>
    ${more && html`<span class="quiet" aria-hidden="true">${more}</span>`}
    ${expired && html`<span>You have been signed out. <a href=${`/login?next=${location.pathname}`}>Sign in again</a></span>`}
  </div>`;
}

function Empty() {
  const suggestions = ["What can you do?", "Summarise the files in this folder", "/help"];
  return html`<div class="welcome">
    <h2>What can I help with?</h2>
    <p class="quiet">
      Work continues if you close this page. Type <kbd>/</kbd> for commands.${" "}
      <span class="mouse">Press <kbd>?</kbd> for keyboard shortcuts, or drop a file here.</span>
    </p>
    <div class="actions">
      ${suggestions.map(
        (one) =>
          html`<button type="button" onClick=${() => set({ given: { text: one, stamp: Date.now() } })}>
            ${one}
          </button>`,
      )}
    </div>
  </div>`;
}

/** @param {{error: ApiError}} props */
const Trouble = ({ error }) =>
  html`<div class="welcome trouble">
    <h2>${error.status === 404 ? "Chat not found" : "Could not open the chat"}</h2>
    <p>${error.message}</p>
    <div class="actions">
      <button type="button" class="primary" onClick=${snapshot}>Try again</button>
      <a class="button" href="/">New chat</a>
      <a class="button" href="/sessions">All sessions</a>
    </div>
  </div>`;

const Queue = () =>
  chat.queue.length
    ? html`<ul class="queue" aria-label="Queued messages" tabindex="0">
        ${chat.queue.slice(0, MAX_QUEUE_SHOWN).map((one) => html`<li key=${one.message_id}><span class="quiet">Next:</span> ${one.text}</li>`)}
        ${chat.queue.length > MAX_QUEUE_SHOWN && html`<li class="quiet">… and ${chat.queue.length - MAX_QUEUE_SHOWN} more</li>`}
      </ul>`
    : null;

function App() {
  const [, count] = useState(0);
  draw = () => count((n) => n + 1);
  const { problem, earlier: busy, details: turn, given, answerProblem } = ui;
  const open = problem && !chat.loaded;
  const empty = !chat.items.length && !chat.more && !open && (chat.loaded || !known);
  const mine = chat.session?.mine !== false;
  const other = `This chat is ${mine ? "" : shell.owner(chat.session)}'s. To continue it as your own, press “Continue here” below a message.`;
  return html`<div class=${`chat-frame${turn ? " with-details" : ""}`}>
    <div class="chat-main">
      <${Header} ...${{ chat, known, waiting: inbox.byId.size, titleOf: shell.titleOf, go: shell.go }} />
      ${open
        ? html`<${Trouble} error=${problem} />`
        : html`<${Log}
            ...${{ chat, actions, earlier: busy, empty: empty ? html`<${Empty} />` : null }}
          />`}
      <div class="foot-frame">
        <${Status} />
        <${Queue} />
        ${chat.question &&
        html`<${QuestionDock} question=${chat.question} answer=${answer} problem=${answerProblem} />`}
        ${!open &&
        html`<${Composer}
          ...${{ id: main.dataset.session ?? "", known, running: chat.running, limits: server.limits, given, send, stop }}
          key=${chat.id}
          Recorder=${parts.Recorder}
          blocked=${mine ? "" : other}
        />`}
      </div>
    </div>
    ${turn && html`<${parts.Details} key=${turn} ...${{ chat, turn, asks: chat.question != null, close: closeDetails }} />`}
  </div>`;
}

async function begin() {
  shell.begin();
  shell.setCurrent(known ? chat.id : "");
  try {
    for (const one of JSON.parse(sessionStorage.getItem(OUTBOX()) ?? "[]")) {
      chat.send(one.id, one.text, one.files, one.mode);
      chat.failed(one.id, "The page was closed before the message was sent.");
    }
  } catch {
    // Nothing was kept.
  }
  const first = known ? snapshot() : null;
  for (let wait = 500; ; wait = Math.min(wait * 2, 8000)) {
    try {
      server = await call("GET", "/api/state");
      inbox.load(server.questions);
      break;
    } catch (error) {
      if (!(/** @type {ApiError} */ (error).temporary)) break;
      set({ stream: "waiting" });
      await new Promise((done) => setTimeout(done, wait));
    }
  }
  if (/** @type {any} */ (server.voice).listen) {
    const voice = await import("./voice.js");
    if (voice.canRecord()) parts.Recorder = voice.Recorder;
  }
  if (/** @type {any} */ (server.voice).speak) actions.speak = speak;
  // People can start to write now; the chat itself may still be loading.
  main.replaceChildren();
  render(html`<${App} />`, main);
  stream.begin(chat.cursor || server.cursor);
  await first;
  resendAll();
}

addEventListener("online", resendAll);
addEventListener("pageshow", (event) => void (event.persisted && snapshot()));

shell.addShortcuts([
  { keys: "/", does: "Write a message", run: () => focus(".composer textarea") },
  { keys: "l", does: "Go to the latest message", run: () => press("[data-jump]") },
  { keys: "d", does: "Show details of the last answer", run: () => press("[data-details]") },
  { keys: "Escape", does: "Close details", run: () => (ui.details ? closeDetails() : focus(".composer textarea")) },
  { keys: "Ctrl .", does: "Stop the turn", run: stop },
]);

/** @param {string} selector */
const last = (selector) =>
  /** @type {HTMLElement|undefined} */ ([...document.querySelectorAll(selector)].at(-1));
const focus = (/** @type {string} */ selector) => last(selector)?.focus();
const press = (/** @type {string} */ selector) => last(selector)?.click();

begin();
