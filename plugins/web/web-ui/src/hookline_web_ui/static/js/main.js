/** The chat page: loads the chat, applies events, and sends messages. @module */
import { html, render, useState } from "../vendor/preact.js";
import { ApiError, call } from "./api.js";
import { Chat } from "./chat.js";
import { Composer, keepAhead, keepDraft } from "./composer.js";
import { Header } from "./header.js";
import { N_, t } from "./i18n.js";
import { OpenQuestions } from "./inbox_count.js";
import { QuestionDock } from "./question.js";
import { Queue } from "./queue.js";
import * as shell from "./shell.js";
import { Status } from "./status.js";
import { Stream } from "./stream.js";
import { Log } from "./transcript.js";
import { now, setNow, uuid } from "./util.js";
import { Empty, Trouble } from "./welcome.js";
import { loadWrote } from "./written.js";

const main = /** @type {HTMLElement} */ (document.getElementById("main"));
const TAIL = 50;
const NO_MODEL = N_("Hookline has no model yet. An admin sets one up on the page “Model”.");

/** The state of the page other than the chat. */
let ui = {
  ...{ stream: "", problem: /** @type {any} */ (null), earlier: false },
  ...{ details: "", place: /** @type {import("./files.js").Place|null} */ (null), answerProblem: "", given: { text: "", files: /** @type {any[]} */ ([]), uploads: /** @type {File[]} */ ([]), stamp: 0 }, expired: false },
};
/** Draws the page again; set when it is first drawn. */
let draw = () => {};
/** @param {Partial<typeof ui>} changed */
const set = (changed) => {
  ui = { ...ui, ...changed };
  draw();
};

let server = { boot: "", now: 0, model: /** @type {string|undefined} */ (undefined), cursor: "", role: "", share: false, settings: { enter: "send", model: "" }, voice: {}, limits: { file: 25e6, text: 100000 }, questions: /** @type {any[]} */ ([]) };
let known = Boolean(main.dataset.session);
/** Events received while a snapshot is loading; null otherwise. @type {Array<[any, string]>|null} */
let held = null;
/** @type {HTMLElement|null} */
let opener = null;

/** Counts what may have changed the settings of the chat. */
let settingsChanged = 0;
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

/** @param {any} event @param {string} id @param {boolean} [followed] whether the stream follows the session of the event */
function receive(event, id, followed = true) {
  updateShell(event);
  if (event.type === "resync") {
    if (event.session == null || event.session === chat.id) snapshot();
    if (event.session == null) call("GET", "/api/state").then((state) => inbox.load(state.questions), () => {});
    return;
  }
  // The stream sends all events of this chat, from its snapshot on, once it follows it.
  if (event.session !== chat.id || !followed) return;
  if (event.type === "setting" || (event.type === "result" && event.turn == null)) settingsChanged += 1;
  if (event.type === "session" && event.deleted) return shell.leave();
  const next = event.row?.successor ?? (sent.has(event.message_id) && event.go);
  if (next) return shell.go(`/chat/${encodeURIComponent(next)}`);
  if (held) held.push([event, id]);
  else if (!chat.apply(event, id)) snapshot();
  else if (event.type === "result" && event.turn != null) loadWrote(chat, address);
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

const address = (/** @type {string} */ rest = "") => `/api/sessions/${encodeURIComponent(chat.id)}${rest}`;

let loading = false;
/** The history has changed while the snapshot was loading. */
let stale = false;
/** Load the stored chat; events that arrive meanwhile are applied afterwards. */
async function snapshot() {
  if (!known) return;
  stale = loading;
  if (loading) return;
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
  if (stale) return snapshot();
  const pending = held;
  held = null;
  for (const [event, id] of pending) if (!chat.apply(event, id)) return snapshot();
  if (chat.loaded) stream.want({ [chat.id]: chat.cursor });
  loadWrote(chat, address);
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
  Object.assign(item, { state: "sending", retry_at: 0, error: "" });
  item.rev += 1;
  const cursor = server.cursor;
  for (let tries = 0; ; tries += 1) {
    try {
      const files = item.files.map((/** @type {any} */ file) => file.id);
      if (!known) await applySettings();
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
      if (failed.retry) {
        Object.assign(item, { error: failed.message, retry_at: now() + failed.retry });
        item.rev += 1;
        changed();
      }
      await new Promise((done) => setTimeout(done, failed.retry * 1000 || 400 * 2 ** tries));
      if (!chat.sending.has(item.id)) return; // discarded
      item.retry_at = 0;
      item.rev += 1;
      changed();
    }
  }
}

/** Apply what was chosen before the chat existed. */
async function applySettings() {
  const { chosen, keepChosen } = await import("./settings.js");
  const { model } = server.settings;
  const values = { ...(model && { model }), ...chosen() };
  if (!Object.keys(values).length) return;
  await call("POST", address("/settings"), values);
  keepChosen({});
}

/** Send failed messages again under the same ids, once the server can be reached. */
function resendAll() {
  for (const item of chat.sending.values()) if (item.state === "failed") deliver(item);
}

/** The open question with all of its preview, and the digest with which it is accepted. */
async function showAll() {
  try {
    return await call("GET", address(`/questions/${encodeURIComponent(chat.question?.id ?? "")}`));
  } catch (error) {
    set({ answerProblem: /** @type {Error} */ (error).message });
    return null;
  }
}

/** @param {string} choice @param {string} [shown] the digest of a question that was shown whole */
async function answer(choice, shown = "") {
  const question = chat.question;
  if (!question) return;
  set({ answerProblem: "" });
  try {
    await call("POST", address("/answer"), { question: question.id, choice, shown });
  } catch (error) {
    const failed = /** @type {ApiError} */ (error);
    set({ answerProblem: failed.message });
    if (failed.status === 409 || failed.status === 404) snapshot();
  }
}

/** Show an error in the log. @param {any} error */
function showError(error) {
  chat.note(now(), error.message, "bad");
  changed();
}

/** Write into the composer, before what is there. @param {string} text @param {any[]} [files] @param {File[]} [uploads] files that are not uploaded yet */
const give = (text, files = [], uploads = []) => set({ given: { text, files, uploads, stamp: Date.now() } });

/** Begin or end editing a message; one of somebody else's chat continues in a chat of one's own. @param {import("./chat.js").Item} item */
async function edit(item) {
  if (chat.session?.mine !== false) {
    actions.editing = actions.editing === item.key ? "" : item.key;
    return changed();
  }
  return make("/branch", { before: item.seq }, (made) => {
    keepDraft(made.id, { text: made.text, files: made.files });
    shell.go(`/chat/${encodeURIComponent(made.id)}`);
  });
}

/** Send a message in another form, or have it answered again. @param {number} before @param {object} [reworded] */
const newVersion = (before, reworded = {}) =>
  make("/versions", { id: uuid(), message_id: uuid(), before, ...reworded }, (made) => {
    actions.editing = "";
    return open(made.id);
  });

let making = false;
/** Make a copy of the chat, but only one at a time. @param {string} path @param {object} body @param {(made: any) => any} show */
async function make(path, body, show) {
  if (making) return;
  making = true;
  await call("POST", address(path), body).then(show).catch(showError);
  making = false;
}

/** Show another version of the chat. @param {string} id */
async function open(id) {
  const path = `/chat/${encodeURIComponent(id)}`;
  if (chat.sending.size) return shell.go(path);
  if (held) held = [];
  ui.given.stamp = 0;
  chat.id = main.dataset.session = id;
  history.replaceState(null, "", path);
  shell.setCurrent(id);
  await snapshot();
}

/** Components that are loaded on demand. @type {{Details?: any, FilesPanel?: any, Recorder?: any, Settings?: any}} */
const parts = {};

/** @param {string} turn @param {HTMLElement|null} from */
async function details(turn, from) {
  opener = from;
  loadStyles();
  parts.Details ??= (await import("./details.js")).Details;
  set({ details: turn, place: null });
}

/** Show the files of the chat. @param {import("./files.js").Place} place @param {HTMLElement|null} [from] */
async function files(place, from) {
  if (from) opener = from;
  loadStyles();
  parts.FilesPanel ??= (await import("./files.js")).FilesPanel;
  set({ details: "", place });
}

/** Load the style sheet of the panels. */
function loadStyles() {
  const href = import.meta.url.replace("js/main.js", "views.css");
  if (document.querySelector(`link[href="${href}"]`)) return;
  document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href }));
}

function closePanel() {
  set({ details: "", place: null });
  if (opener?.isConnected) opener.focus();
  else focus(".composer textarea");
}

/** Take a message back that is queued. @param {any} message @param {boolean} toEdit */
async function take(message, toEdit) {
  try {
    const { text, files } = await call("DELETE", address(`/queue/${encodeURIComponent(message.message_id)}`));
    if (toEdit) give(text, files);
  } catch (error) {
    showError(error);
  }
}

/** Stop the turn. Queued messages, which would begin at once, go back to the composer. */
async function stop() {
  for (const message of chat.queue.toReversed()) await take(message, true);
  await call("POST", address("/stop")).catch(showError);
}

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
  ...{ edit, details, files, earlier, again: changed, speak: /** @type {any} */ (null), editing: "", open },
  reword: (/** @type {any} */ item, /** @type {string} */ text, /** @type {any[]} */ files) =>
    newVersion(item.seq, { text, files: files.map((one) => one.id) }),
  regenerate: (/** @type {any} */ item) => newVersion(/** @type {number} */ (chat.beginnings().get(item.turn))),
  resend: deliver,
  discard: (/** @type {any} */ item) => {
    chat.forget(item.id);
    give(item.blocks[0].text, item.files);
  },
};

function App() {
  const [, count] = useState(0);
  draw = () => count((n) => n + 1);
  const { problem, earlier: busy, details: turn, place, given, answerProblem } = ui;
  const open = problem && !chat.loaded;
  const empty = !chat.items.length && !chat.more && !open && (chat.loaded || !known);
  const mine = chat.session?.mine !== false;
  const other = mine ? "" : t("This chat belongs to {name}. To continue it as your own, press “Continue here” below a message.", { name: shell.owner(chat.session) });
  return html`<div class=${`chat-frame${turn || place ? " with-details" : ""}`}>
    <div class="chat-main">
      <${Header} ...${{ chat, known, waiting: inbox.byId.size, titleOf: shell.titleOf, go: shell.go, files, share: server.share }} />
      ${open
        ? html`<${Trouble} error=${problem} again=${snapshot} />`
        : html`<${Log} ...${{ chat, actions, earlier: busy, empty: empty ? html`<${Empty} give=${give} />` : null }} />`}
      <div class="foot-frame">
        <${Status} ...${{ chat, stream: ui.stream, expired: ui.expired }} />
        <${Queue} ...${{ queue: chat.queue, mine, take }} />
        ${chat.question &&
        html`<${QuestionDock} question=${chat.question} ...${{ answer, showAll }} problem=${answerProblem} />`}
        ${!open &&
        html`<${Composer}
          ...${{ id: main.dataset.session ?? "", known, running: chat.running, limits: server.limits, enterSends: server.settings.enter !== "newline", given, send, stop }}
          key=${chat.id}
          Recorder=${parts.Recorder}
          settings=${parts.Settings && html`<${parts.Settings} ...${{ id: chat.id, known, mine, stamp: `${chat.session?.model} ${settingsChanged}`, fail: showError }} />`}
          blocked=${mine ? (server.model === "" ? t(NO_MODEL) : "") : other}
        />`}
      </div>
    </div>
    ${turn && html`<${parts.Details} key=${turn} ...${{ chat, turn, asks: chat.question != null, close: closePanel }} />`}
    ${place && html`<${parts.FilesPanel} ...${{ chat, place, stamp: `${chat.results.size} ${settingsChanged}`, asks: chat.question != null, limit: server.limits.file, show: files, close: closePanel }} />`}
  </div>`;
}

async function begin() {
  shell.begin();
  shell.setCurrent(known ? chat.id : "");
  try {
    for (const one of JSON.parse(sessionStorage.getItem(OUTBOX()) ?? "[]")) {
      chat.send(one.id, one.text, one.files, one.mode);
      chat.failed(one.id, t("The page was closed before the message was sent."));
    }
  } catch {
    // Nothing was kept.
  }
  const first = known ? snapshot() : null;
  for (let wait = 500; ; wait = Math.min(wait * 2, 8000)) {
    try {
      server = await call("GET", "/api/state");
      setNow(server.now);
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
  import("./settings.js").then((one) => ((parts.Settings = one.Settings), draw()), () => {});
  // People can start to write now; the chat itself may still be loading.
  const focused = keepAhead(main.dataset.session ?? "", main.querySelector("textarea"));
  main.replaceChildren();
  render(html`<${App} />`, main);
  if (focused) focus(".composer textarea"); // at once, so that the next key is not a shortcut
  stream.begin(chat.cursor || server.cursor);
  takeShared().catch(showError);
  await first;
  resendAll();
  jump().catch(showError);
}

/** Scroll to the message that the address names, as `#m12`. */
async function jump() {
  if (/^#m\d+$/.test(location.hash)) await (await import("./jump.js")).jump(chat, address, Number(location.hash.slice(2)));
}

/** Put what was shared with the app into the message box of a new chat. */
async function takeShared() {
  if (!known && (await globalThis.caches?.has("shared"))) (await import("./shared.js")).takeShared(give);
}

addEventListener("hashchange", () => jump().catch(showError));
addEventListener("compose", (event) => {
  event.preventDefault();
  give(/** @type {CustomEvent} */ (event).detail);
});
addEventListener("online", resendAll);
addEventListener("pageshow", (event) => void (event.persisted && snapshot()));

shell.addShortcuts([
  { keys: "/", does: N_("Write a message"), run: () => focus(".composer textarea") },
  { keys: "l", does: N_("Go to the latest message"), run: () => press("[data-jump]") },
  { keys: "d", does: N_("Show details of the last answer"), run: () => press("[data-details]") },
  { keys: "f", does: N_("Show the files"), run: () => press("[data-files]") },
  { keys: "Escape", does: N_("Close the panel"), run: () => (ui.details || ui.place ? closePanel() : focus(".composer textarea")) },
  { keys: "Ctrl .", does: N_("Stop the turn"), run: stop },
]);

/** @param {string} selector */
const last = (selector) => /** @type {HTMLElement|undefined} */ ([...document.querySelectorAll(selector)].at(-1));
const focus = (/** @type {string} */ selector) => last(selector)?.focus();
const press = (/** @type {string} */ selector) => last(selector)?.click();

begin();
