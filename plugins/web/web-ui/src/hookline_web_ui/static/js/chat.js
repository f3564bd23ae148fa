/**
 * The state of one chat: a snapshot plus the events after it. It does not use the DOM. @module
 *
 * Everything has a key, so that a repeated event changes nothing: messages have `seq`, a turn's
 * text `part` and `n`, tools `id`, and messages being sent `message_id`.
 *
 * @typedef {import("./chat_items.js").Tool} Tool
 * @typedef {import("./chat_items.js").Item} Item
 */
import { base, fresh, setText } from "./chat_items.js";
import { outcome } from "./question_text.js";
import { now } from "./util.js";

/** @param {string} [id] `BOOT.N` */
export function position(id = "") {
  const dot = id.lastIndexOf(".");
  return dot < 0 ? null : { boot: id.slice(0, dot), n: Number(id.slice(dot + 1)) };
}

/** @param {Item} item @param {string|undefined} text */
const hasText = (item, text) => item.role === "user" && item.blocks?.some((block) => block.text === text);

export class Chat {
  /** @param {string} id @param {() => void} changed @param {string} person such as `web:owner` */
  constructor(id, changed = () => {}, person = "") {
    this.id = id;
    this.changed = changed;
    this.person = person;
    /** Messages sent from this page and not confirmed yet. @type {Map<string, Item>} */
    this.sending = new Map();
    this.clear();
  }

  clear() {
    this.session = null;
    /** @type {Item[]} */
    this.items = [];
    /** The first entry to draw; null for the latest ones. @type {Item|null} */
    this.top = null;
    /** @type {Map<string, Tool>} */
    this.tools = new Map();
    /** @type {Map<string, Item>} */
    this.owners = new Map();
    /** @type {any} */
    this.turn = null;
    /** @type {any[]} */
    this.queue = [];
    /** The open questions by id, oldest first. @type {Map<string, any>} */
    this.questions = new Map();
    /** When programs and tools wrote the files of the chat, by their path. @type {Record<string, number>} */
    this.wrote = {};
    /** The versions of messages, by the sequence of the user's message. @type {Map<number, any>} */
    this.versions = new Map();
    /** Whether there are messages before the first one. @type {boolean} */
    this.more = false;
    this.cursor = "";
    this.loaded = false;
    /** @type {Map<string, any>} */
    this.results = new Map();
  }

  /** @param {any} snapshot the response of `GET /api/sessions/{id}` */
  load(snapshot) {
    if (this.session && this.session.id !== snapshot.session?.id) this.clear(); // another version: other messages, the same sequences
    const old = new Map(this.items.map((item) => [item.key, item]));
    const { results, wrote, tools, top, more } = this;
    const begin = snapshot.messages?.[0]?.seq;
    const before = begin == null ? [] : this.items.slice(0, Math.max(this.items.findIndex((item) => item.seq === begin), 0));
    this.clear();
    Object.assign(this, { results, wrote, tools, top });
    this.loaded = true;
    this.cursor = snapshot.cursor ?? "";
    this.session = snapshot.session;
    this.more = before.length ? more : Boolean(snapshot.more);
    this.queue = snapshot.queue ?? [];
    for (const one of snapshot.versions ?? []) this.versions.set(one.seq, one);
    for (const one of snapshot.questions ?? []) this.questions.set(one.id, one);
    this.items = [...before, ...this.fromMessages(snapshot.messages ?? [], old)];
    this.turn = snapshot.turn ? { ...snapshot.turn } : null;
    for (const aside of snapshot.asides ?? []) this.placeAside(aside);
    for (const answer of snapshot.answers ?? []) this.placeAnswer(answer);
    const turn = snapshot.turn;
    if (turn) {
      for (const { part, n, text } of turn.parts ?? []) {
        const item = this.live(turn.id, part, turn.started, old);
        if (!item.live) continue; // stored since
        item.n = n;
        setText(item, text);
      }
      for (const tool of turn.tools ?? []) this.putTool({ ts: turn.started, ...tool }, turn.id);
    }
    this.mergeSending();
    this.changed();
  }

  /** Add a page of earlier messages. @param {any} page */
  prepend(page) {
    const known = new Set(this.items.map((item) => item.seq).filter((seq) => seq != null));
    const fresh = (page.messages ?? []).filter((/** @type {any} */ one) => !known.has(one.seq));
    const [first] = this.items;
    this.items = [...this.fromMessages(fresh), ...this.items];
    if (this.top === first) this.top = this.items[0];
    this.more = Boolean(page.more);
    this.changed();
  }

  /**
   * @param {any[]} messages
   * @param {Map<string, Item>} [old] the items so far; those of the same messages are reused
   */
  fromMessages(messages, old = new Map()) {
    const items = [];
    for (const message of messages) {
      if (message.role === "tool") {
        const texts = message.blocks.filter((/** @type {any} */ one) => one.type === "text");
        for (const block of message.blocks) {
          if (block.type === "tool_result") this.putTool({ ...block }, message.turn);
        }
        if (texts.length) {
          items.push({
            ...base("message", `s${message.seq}`, message.created),
            ...{ role: "user", seq: message.seq, turn: message.turn, blocks: texts, steer: true },
          });
        }
        continue;
      }
      const role = message.role === "user" ? "user" : "assistant";
      let key = message.message_id ? `u${message.message_id}` : `s${message.seq}`;
      if (role === "assistant" && message.part != null) key = `${message.turn}/${message.part}`;
      const item = old.get(key) ?? base("message", key, message.created);
      Object.assign(item, {
        ...{ role, seq: message.seq, turn: message.turn, at: message.created },
        blocks: message.blocks,
        files: message.files ?? [],
        stop: message.stop,
        error: message.error ?? "",
        id: message.message_id,
        state: "stored",
        live: false,
      });
      item.rev += 1;
      items.push(item);
      for (const block of message.blocks) {
        if (block.type !== "tool_call") continue;
        this.owners.set(block.id, item);
        const tool = this.tools.get(block.id) ?? fresh(block.id);
        this.tools.set(block.id, { ...tool, name: block.name, arguments: block.arguments });
      }
    }
    return /** @type {Item[]} */ (items);
  }

  /**
   * @param {any} event
   * @param {string} [id]
   * @returns {boolean} false if an event is missing, so that a snapshot is needed
   */
  apply(event, id = "") {
    const [now, seen] = [position(id), position(this.cursor)];
    if (now && seen && now.boot === seen.boot && now.n <= seen.n) return true;
    const handler = /** @type {any} */ (this)[`on_${event.type}`];
    const complete = handler ? handler.call(this, event) !== false : true;
    if (complete && id) this.cursor = id;
    this.changed();
    return complete;
  }

  /** @param {any} event */
  on_user(event) {
    const { ts: at, text: command } = event;
    if (event.command) return this.placeAside({ ...event, at, command, text: null });
    if (event.steer && !this.running) return this.forget(event.message_id);
    const key = `u${event.message_id}`;
    let item = this.items.find((one) => one.key === key);
    this.sending.delete(event.message_id);
    if (!item || item.state !== "stored") {
      this.items = this.items.filter((one) => one !== item);
      item ??= base("message", key, event.ts);
      this.items.push(item);
    }
    const blocks = [{ type: "text", text: event.text }];
    Object.assign(item, {
      ...{ role: "user", seq: event.seq ?? item.seq, turn: event.turn, blocks, id: event.message_id },
      ...{ files: event.files ?? [], state: "stored", steer: Boolean(event.steer), error: "" },
    });
    item.rev += 1;
    this.queue = this.queue.filter((one) => one.message_id !== event.message_id);
  }

  /** @param {any} event */
  on_start(event) {
    const again = this.turn?.id === event.turn && event.attempt > this.turn.attempt;
    if (again || this.turn?.id !== event.turn) {
      // What a repeated attempt had written; after an error of the store it has another id.
      this.items = this.items.filter(
        (item) => !item.live || (item.turn === event.turn ? (item.part ?? 0) < (event.part ?? 0) : this.results.has(item.turn ?? "")),
      );
    }
    if (this.results.has(event.turn)) return;
    // The message of a new turn answers the question that the last one ended with.
    for (const one of [...this.questions.values()]) if (one.ends_turn) this.questions.delete(one.id);
    this.turn = { ...{ tools: [], started: event.ts }, id: event.turn, attempt: event.attempt };
    this.turn.step = "model";
  }

  /** @param {any} event */
  on_state(event) {
    if (this.session) this.session.state = event.state;
    if (event.state === "idle" || event.state === "asking") this.turn = null;
  }

  /** @param {any} event */
  on_queue(event) {
    const waited = new Set(this.queue.map((one) => one.message_id));
    this.queue = event.queue;
    const waiting = new Set(this.queue.map((one) => one.message_id));
    // A message that begins a turn is stored by now; else it was taken back.
    this.items = this.items.filter((item) => item.state !== "sending" || waiting.has(item.id) || !waited.has(item.id));
    for (const item of this.items) {
      if (!item.id || !waiting.has(item.id) || item.state !== "sending") continue;
      this.sending.delete(item.id);
      // Without a running turn it is about to start one, and stays in its place.
      if (this.turn || this.session?.state === "asking") item.state = "queued";
    }
    this.items = this.items.filter((item) => item.state !== "queued" || waiting.has(item.id));
  }

  /** @param {any} event */
  on_step(event) {
    if (!this.current(event)) return;
    Object.assign(this.turn, { step: event.step, about: event.text, retry_at: event.retry_at });
  }

  /** @param {any} event @returns {boolean|void} */
  on_delta(event) {
    if (!this.turn && this.results.has(event.turn)) return;
    if (this.turn?.id !== event.turn || event.attempt > this.turn.attempt) return false;
    if (event.attempt < this.turn.attempt) return;
    const item = this.items.find((one) => one.key === `${event.turn}/${event.part}`);
    if (item && !item.live) return; // the snapshot has the stored response
    const expected = item?.n ?? 0;
    if (event.n < expected) return;
    if (event.n > expected) return false;
    const target = item ?? this.live(event.turn, event.part, event.ts);
    target.n = expected + 1;
    setText(target, target.blocks?.[0].text + event.text);
    this.turn.step = "answering";
  }

  /** @param {any} event */
  on_part(event) {
    if (!this.current(event) || event.text == null) return;
    const item = this.live(event.turn, event.part, event.ts);
    if (!item.live) return;
    setText(item, event.text);
    item.n = Infinity;
  }

  /** @param {any} event */
  on_tool_call(event) {
    this.putTool({ ok: null, text: "", ...event }, event.turn);
    if (this.turn) this.turn.step = "tool";
  }

  /** @param {any} event */
  on_tool_result(event) {
    this.putTool({ ...event }, event.turn);
  }

  /** @param {any} event */
  on_question(event) {
    if (!event.elsewhere) this.questions.set(event.id, event);
  }

  /** @param {any} event */
  on_answered(event) {
    const question = this.questions.get(event.question);
    // The answer to a question that ended a turn is a message.
    if (question && !question.ends_turn) this.placeAnswer({ ...event, at: event.ts });
    this.questions.delete(event.question);
  }

  /** @param {any} answer */
  placeAnswer({ question, state, choice, label, words, by, by_name, at }) {
    const text = outcome({ state, choice, label, words, by: by_name, mine: by === this.person });
    this.place(Object.assign(base("notice", `q${question}`, at), { text, tone: "quiet" }));
  }

  /** Insert an item by its time. @param {Item} item */
  place(item) {
    if (this.items.some((one) => one.key === item.key)) return;
    const next = this.items.findIndex((one) => one.at > item.at && one.state !== "sending");
    this.items.splice(next < 0 ? this.items.length : next, 0, item);
  }

  /** @param {any} event */
  on_notice(event) {
    const by = event.plugin && event.plugin !== "core" ? `${event.plugin}: ` : "";
    this.note(event.ts, by + event.text, "quiet");
  }

  /** @param {any} event */
  on_error(event) {
    this.note(event.ts, event.text, "bad", event.turn);
  }

  /** @param {any} event */
  on_files(event) {
    const last = this.items.findLast((item) => item.role === "assistant");
    if (!last) return;
    const known = new Set(last.files?.map((file) => file.id));
    last.files = [...(last.files ?? []), ...event.files.filter((/** @type {any} */ file) => !known.has(file.id))];
    last.rev += 1;
  }

  /** @param {any} event */
  on_result(event) {
    if (event.turn == null) return this.placeAside({ ...event, at: event.ts });
    this.results.set(event.turn, event);
    if (event.messages?.length) {
      const old = new Map(this.items.map((item) => [item.key, item]));
      const stored = this.fromMessages(event.messages, old);
      const mine = new Set([...stored, ...this.items.filter((one) => one.turn === event.turn)]);
      const first = this.items.findIndex((one) => mine.has(one) && one.kind === "message");
      const before = this.items.slice(0, first < 0 ? this.items.length : first);
      const after = this.items.slice(before.length);
      // The answer of a failed turn shows its error, so the notice about it is dropped.
      const failed = stored.some((one) => one.error);
      const isTaken = (/** @type {Item} */ one) => one.steer && one.turn == null && stored.some((other) => hasText(other, one.blocks?.[0].text));
      const isRepeated = (/** @type {Item} */ one) =>
        one.kind === "message"
          ? mine.has(one)
          : failed && one.tone === "bad" && one.turn === event.turn;
      const rest = after.filter((one) => !isRepeated(one));
      const files = after.findLast((one) => one.live && one.files?.length)?.files;
      const at = (/** @type {Item} */ one) => (this.sending.has(one.id ?? "") ? Infinity : one.at);
      this.items = [...before.filter((one) => !isTaken(one)), ...[...stored, ...rest.filter((one) => !isTaken(one))].sort((a, b) => at(a) - at(b) || 0)];
      const last = stored.findLast((item) => item.role === "assistant");
      if (files && last && !last.files?.length) last.files = files;
    }
    for (const item of this.items) if (item.turn === event.turn) item.rev += 1;
    if (this.turn?.id === event.turn) this.turn = null;
  }

  /** @param {any} event */
  on_title(event) {
    if (this.session) this.session.title = event.title;
  }

  /** @param {any} event */
  on_session(event) {
    if (event.row) this.session = { mine: true, ...this.session, ...event.row };
  }

  /** Show a message before the server has confirmed it. @param {string} id @param {string} text @param {any[]} files */
  send(id, text, files, mode = "send") {
    const item = {
      ...base("message", `u${id}`, now()),
      ...{ role: "user", id, files, blocks: [{ type: "text", text }], mode },
      ...{ state: "sending", error: "" },
    };
    this.sending.set(id, /** @type {any} */ (item));
    this.items.push(/** @type {any} */ (item));
    this.changed();
    return item;
  }

  /** @param {string} id @param {string} error */
  failed(id, error) {
    const item = this.sending.get(id);
    if (!item) return;
    Object.assign(item, { state: "failed", error });
    item.rev += 1;
    this.changed();
  }

  /** @param {Record<string, number>} times */
  setWrote(times) {
    this.wrote = times;
    for (const item of this.items) if (item.role === "assistant") item.rev += 1;
    this.changed();
  }

  /** Whether an item is the text of the open question, which the dock shows. @param {Item} item */
  isAsked(item) {
    const { question } = this;
    if (!question?.ends_turn || question.id !== `${item.turn}-reply`) return false;
    const text = item.blocks?.find((block) => block.type === "text")?.text ?? "";
    return text.startsWith(question.text) && item === this.items.findLast((one) => one.role === "assistant");
  }

  /** The sequences of the messages that began turns, by turn. @returns {Map<string|null|undefined, number>} */
  beginnings() {
    const begun = this.items.filter((one) => one.role === "user" && !one.steer && one.seq != null);
    return new Map(begun.toReversed().map((one) => [one.turn, /** @type {number} */ (one.seq)]));
  }

  /** @param {string} id */
  forget(id) {
    this.sending.delete(id);
    this.items = this.items.filter((item) => item.id !== id);
    this.changed();
  }

  mergeSending() {
    const waiting = new Set(this.queue.map((one) => one.message_id));
    for (const item of [...this.sending.values()]) {
      const stored = this.items.some((one) => one.id === item.id);
      if (stored || waiting.has(item.id)) this.sending.delete(/** @type {string} */ (item.id));
      else this.items.push(item);
    }
  }

  /**
   * Return the item of a streamed answer; it is created if needed.
   * @param {string} turn @param {number} part @param {number} at
   * @param {Map<string, Item>} [old] earlier items to reuse, so that they are not drawn again
   */
  live(turn, part, at, old) {
    const key = `${turn}/${part}`;
    const known = this.items.find((item) => item.key === key);
    if (known) return known;
    const item = old?.get(key) ?? base("message", key, at);
    const blocks = [{ type: "text", text: "" }];
    Object.assign(item, { role: "assistant", seq: null, turn, part, n: 0, live: true, blocks });
    this.items.push(item);
    return item;
  }

  /** @param {any} fields @param {string} turn */
  putTool(fields, turn) {
    const known = this.tools.get(fields.id) ?? fresh(fields.id);
    const { type, session, ts, turn: _, ...tool } = fields;
    this.tools.set(fields.id, known.ok != null && tool.ok == null ? known : { ...known, ...tool });
    const owner = this.owners.get(fields.id);
    if (owner) owner.rev += 1;
    else if (this.turn && this.turn.id === turn && fields.name) {
      const item = this.items.findLast((one) => one.live && one.turn === turn) ?? this.live(turn, 0, ts);
      item.blocks?.push({ type: "tool_call", id: fields.id });
      item.rev += 1;
      this.owners.set(fields.id, item);
    }
  }

  /** @param {any} aside */
  placeAside(aside) {
    if (aside.notice) return this.place(Object.assign(base("notice", `a${aside.id}`, aside.at), { text: aside.text, tone: "quiet" }));
    const { command, text, stop, at, message_id: sent } = aside;
    if (sent && command?.startsWith("/steer ")) return this.placeSteering(sent, command.slice(7).trim(), at);
    const key = `a${sent ?? aside.id}`;
    const known = this.items.find((item) => item.key === key);
    if (sent) {
      this.sending.delete(sent);
      this.items = this.items.filter((item) => item.id !== sent || item.kind === "aside");
      this.queue = this.queue.filter((one) => one.message_id !== sent);
    }
    if (known) {
      known.text = text ?? known.text;
      known.command ??= command;
      known.rev += 1;
      return;
    }
    this.place(Object.assign(base("aside", key, at), { command, text, stop, id: sent }));
  }

  /**
   * Show a message for the running turn until the turn, or the next one, has it. Without a turn it was queued.
   * @param {string} id @param {string} text @param {number} at
   */
  placeSteering(id, text, at) {
    const has = (/** @type {Item} */ one) => one.id === id || (one.role === "user" && one.seq != null && (one.at >= at || (one.steer && hasText(one, text))));
    if (!this.items.some(has) && !this.queue.some((one) => one.text === text)) {
      const blocks = [{ type: "text", text }];
      this.place(/** @type {any} */ ({ ...base("message", `u${id}`, at), role: "user", id, blocks, files: [], state: "stored", steer: true }));
    }
    this.sending.delete(id);
  }

  /** @param {number} at @param {string} text @param {string} tone @param {string|null} [turn] */
  note(at, text, tone, turn = null) {
    const key = `n${at}${text}`;
    if (this.items.some((item) => item.key === key)) return;
    this.items.push(Object.assign(base("notice", key, at), { text, tone, turn }));
  }

  /** Whether an event belongs to the running turn. @param {any} event */
  current(event) {
    return this.turn?.id === event.turn && (event.attempt ?? 0) >= (this.turn.attempt ?? 0);
  }

  /** The oldest open question, or null. */
  get question() {
    return this.questions.values().next().value ?? null;
  }

  get running() {
    return Boolean(this.turn) || ["running", "queued", "asking"].includes(this.session?.state);
  }
}
