// What a chat shows after any order of snapshots and events. Run with `node --test`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Chat } from "../../src/hookline_web_ui/static/js/chat.js";

const ANN = "ann (web page)";
const TEXT = "Some words, one after the other.";
const words = TEXT.match(/\S+\s*/g);
const user = { seq: 1, turn: "t", role: "user", created: 1, message_id: "m" };
user.blocks = [{ type: "text", text: "hi" }];
const answer = { seq: 2, turn: "t", role: "assistant", created: 2, part: 0 };
answer.blocks = [{ type: "text", text: TEXT }];
const events = [
  { type: "state", state: "running" },
  { type: "user", turn: "t", ts: 1, message_id: "m", text: "hi", files: [], seq: null },
  { type: "start", turn: "t", ts: 1, attempt: 1, part: 0 },
  ...words.map((text, n) => ({ type: "delta", turn: "t", attempt: 1, part: 0, n, text })),
  { type: "part", turn: "t", attempt: 1, part: 0, text: null },
  { type: "result", turn: "t", ts: 3, text: TEXT, messages: [user, answer], stop: "done" },
  { type: "state", state: "idle" },
].map((event, n) => ({ ...event, session: "s", id: `b.${n + 1}` }));

/** The snapshot after so many events. */
function snapshot(count) {
  const done = events.slice(0, count);
  const over = done.some((event) => event.type === "result");
  const began = done.some((event) => event.type === "start");
  const deltas = done.filter((event) => event.type === "delta");
  const parts = [{ part: 0, n: deltas.length, text: deltas.map((one) => one.text).join("") }];
  return {
    cursor: `b.${count}`,
    session: { id: "s", state: over || !began ? "idle" : "running", mine: true },
    messages: over ? [user, answer] : began ? [user] : [],
    turn: began && !over ? { id: "t", attempt: 1, parts: deltas.length ? parts : [], tools: [] } : null,
    queue: [],
    question: null,
    asides: [],
    more: false,
  };
}
const shown = (chat) => chat.items.map((item) => `${item.role}: ${item.blocks[0].text}`);
const WHOLE = ["user: hi", `assistant: ${TEXT}`];
const play = (chat, from, to = events.length) =>
  events.slice(from, to).every((event) => chat.apply(event, event.id));

test("events alone build the chat", () => {
  const chat = new Chat("s");
  assert.ok(play(chat, 0));
  assert.deepEqual(shown(chat), WHOLE);
  assert.equal(chat.turn, null);
});

test("a snapshot at any point, with events from any earlier point", () => {
  for (let at = 0; at <= events.length; at += 1) {
    for (let from = 0; from <= at; from += 1) {
      const chat = new Chat("s");
      chat.load(snapshot(at));
      assert.ok(play(chat, from), `${at} ${from}`);
      assert.deepEqual(shown(chat), WHOLE, `${at} ${from}`);
      assert.equal(chat.running, false);
    }
  }
});

test("a snapshot at any point of what is already shown", () => {
  for (let at = 0; at <= events.length; at += 1) {
    const chat = new Chat("s");
    play(chat, 0, at);
    chat.load(snapshot(at));
    assert.ok(play(chat, at));
    assert.deepEqual(shown(chat), WHOLE);
  }
});

test("a snapshot of the end keeps the earlier messages", () => {
  const chat = new Chat("s");
  const earlier = { ...user, seq: 1, turn: "s", message_id: "e" };
  const end = { ...snapshot(6), messages: [{ ...user, seq: 3 }, { ...answer, seq: 4 }], more: true };
  chat.load(end);
  chat.prepend({ messages: [earlier], more: false });
  chat.load(end);
  assert.deepEqual(shown(chat), ["user: hi", ...WHOLE]);
  assert.equal(chat.more, false);
  [chat.top] = chat.items;
  const version = { ...end, turn: null, session: { id: "other" }, messages: end.messages.map((one) => ({ ...one, turn: "t-other" })) };
  chat.load(version); // other messages of the same sequences
  assert.deepEqual(shown(chat), WHOLE);
  assert.deepEqual([chat.more, chat.top], [true, null]);
});

test("a turn that begins again under another id replaces what was written", () => {
  const chat = new Chat("s");
  play(chat, 0, 6);
  for (const event of events.slice(1)) assert.ok(chat.apply(event.turn ? { ...event, turn: "again" } : event));
  assert.deepEqual(shown(chat), WHOLE);
});

test("every event twice changes nothing", () => {
  const chat = new Chat("s");
  for (const event of events) for (const _ of [1, 2]) assert.ok(chat.apply(event));
  assert.deepEqual(shown(chat), WHOLE);
});

test("a missing delta asks for a snapshot", () => {
  const chat = new Chat("s");
  play(chat, 0, 4);
  assert.equal(chat.apply(events[5], events[5].id), false);
  chat.load(snapshot(6));
  assert.ok(play(chat, 6));
  assert.deepEqual(shown(chat), WHOLE);
});

test("a later attempt discards what was provisional", () => {
  const chat = new Chat("s");
  play(chat, 0, 6);
  assert.ok(chat.apply({ type: "start", turn: "t", attempt: 1000, part: 0, ts: 2 }));
  assert.deepEqual(shown(chat), ["user: hi"]);
  assert.ok(chat.apply({ ...events[3], attempt: 1 }));
  assert.deepEqual(shown(chat), ["user: hi"]);
  assert.ok(chat.apply({ ...events[3], attempt: 1000 }));
  assert.deepEqual(shown(chat), ["user: hi", `assistant: ${words[0]}`]);
});

test("a message that is being sent becomes the stored one", () => {
  const chat = new Chat("s");
  chat.send("m", "hi", []);
  assert.equal(chat.items[0].state, "sending");
  assert.ok(play(chat, 0));
  assert.deepEqual(shown(chat), WHOLE);
  assert.equal(chat.sending.size, 0);
  assert.equal(chat.items[0].seq, 1);
});

test("a message that could not be sent survives a snapshot", () => {
  const chat = new Chat("s");
  chat.load(snapshot(events.length));
  chat.send("other", "later", []);
  chat.failed("other", "offline");
  chat.load(snapshot(events.length));
  assert.deepEqual(shown(chat), [...WHOLE, "user: later"]);
});

test("a tool is running, then done, and stays done", () => {
  const chat = new Chat("s");
  play(chat, 0, 4);
  const call = { type: "tool_call", turn: "t", ts: 2, id: "c", name: "bash", arguments: { command: "ls" } };
  const result = { type: "tool_result", turn: "t", ts: 3, id: "c", name: "bash", ok: true, text: "a" };
  chat.apply(call);
  assert.equal(chat.tools.get("c").ok, null);
  assert.equal(chat.items.at(-1).blocks.at(-1).id, "c");
  chat.apply(result);
  chat.apply(call);
  assert.equal(chat.tools.get("c").ok, true);
  assert.equal(chat.items.at(-1).blocks.filter((one) => one.type === "tool_call").length, 1);
});

test("a question opens, and closes with who answered", () => {
  const chat = new Chat("s");
  const choices = [{ id: "once", label: "Allow once", style: "" }];
  chat.apply({ type: "question", ts: 1, id: "q", kind: "approval", text: "?", choices });
  assert.equal(chat.question.id, "q");
  chat.apply({ type: "answered", ts: 2, question: "other", choice: "Allow once", label: "Allow once", by: "web:ann", by_name: ANN });
  assert.equal(chat.question.id, "q");
  chat.apply({ type: "answered", ts: 2, question: "q", choice: "Allow once", label: "Allow once", by: "web:ann", by_name: ANN });
  assert.equal(chat.question, null);
  assert.match(chat.items.at(-1).text, /^ann \(web page\) answered: Allow once$/);
});

test("an answered question keeps its place after a reload", () => {
  const chat = new Chat("s");
  const answers = [{ question: "q", choice: "Deny", label: "Deny", by: "web:ann", by_name: ANN, at: 15 }];
  const said = (seq, role, created) => ({ seq, role, created, turn: "t", blocks: [] });
  const messages = [said(1, "user", 10), said(2, "assistant", 11), said(3, "assistant", 20)];
  chat.load({ cursor: "b.1", messages, answers });
  assert.deepEqual(chat.items.map((one) => one.text ?? one.seq), [1, 2, `${ANN} denied this.`, 3]);
});

test("the answer to a question of the model is shown only as a message", () => {
  const chat = new Chat("s");
  chat.apply({ type: "question", ts: 1, id: "q", kind: "clarify", text: "?", choices: [], ends_turn: true });
  chat.apply({ type: "answered", ts: 2, question: "q", choice: "Tea", by: "web:ann" });
  assert.deepEqual([chat.question, chat.items], [null, []]);
});

test("the next turn closes the question that the last one ended with", () => {
  const chat = new Chat("s");
  const question = { type: "question", ts: 1, id: "q", kind: "clarify", text: "?", ends_turn: true };
  chat.apply(question);
  chat.apply({ type: "start", ts: 2, turn: "t", attempt: 1, part: 0 });
  assert.equal(chat.question, null);
});

test("of two open questions the older is shown, and then the other", () => {
  const chat = new Chat("s");
  for (const id of ["one", "two"]) chat.apply({ type: "question", ts: 1, id, kind: "approval" });
  assert.equal(chat.question.id, "one");
  chat.apply({ type: "answered", ts: 2, question: "one", state: "answered", choice: "Deny", label: "Deny", words: "not now", by: "web:ann", by_name: ANN });
  assert.equal(chat.question.id, "two");
  chat.apply({ type: "answered", ts: 3, question: "two", state: "expired", choice: null, label: "", words: "", by: null, by_name: "" });
  assert.equal(chat.question, null);
  const texts = chat.items.map((one) => one.text);
  assert.deepEqual(texts, [`${ANN} denied this: not now`, "The question has expired."]);
});

test("a parked turn can be stopped, and begins again", () => {
  const chat = new Chat("s");
  chat.load({ cursor: "b.1", session: { id: "s", state: "idle" }, messages: [user] });
  chat.apply({ type: "start", ts: 1, turn: "t", attempt: 1, part: 0 });
  chat.apply({ type: "delta", ts: 1, turn: "t", attempt: 1, part: 0, n: 0, text: "I run it." });
  chat.apply({ type: "state", ts: 2, state: "asking" });
  assert.deepEqual([chat.turn, chat.running], [null, true]);
  chat.apply({ type: "state", ts: 3, state: "running" });
  chat.apply({ type: "start", ts: 3, turn: "t", attempt: 1, part: 1 });
  chat.apply({ type: "delta", ts: 3, turn: "t", attempt: 1, part: 1, n: 0, text: "Done." });
  assert.deepEqual(shown(chat).slice(1), ["assistant: I run it.", "assistant: Done."]);
});

test("a notice about a queued message leaves the message in the queue", () => {
  const chat = new Chat("s");
  const queue = [{ message_id: "k", text: "later", files: [], at: 1 }];
  const aside = { id: "r", message_id: null, command: "", text: "It is queued.", at: 2, notice: true };
  chat.load({ cursor: "b.1", messages: [], queue, asides: [aside] });
  assert.equal(chat.queue.length, 1);
  assert.deepEqual(chat.items.map((one) => [one.kind, one.text]), [["notice", "It is queued."]]);
});

test("a command and its reply are one item", () => {
  const chat = new Chat("s");
  chat.send("k", "/help", []);
  chat.apply({ type: "user", ts: 1, turn: null, message_id: "k", text: "/help", command: true });
  chat.apply({ type: "result", ts: 2, turn: null, message_id: "k", text: "Commands", id: "r" });
  assert.deepEqual(
    chat.items.map(({ kind, command, text }) => ({ kind, command, text })),
    [{ kind: "aside", command: "/help", text: "Commands" }],
  );
});

test("a command whose reply comes first is not shown as waiting", () => {
  const chat = new Chat("s");
  chat.load({ ...snapshot(0), turn: null, queue: [{ message_id: "k", text: "/resume" }] });
  chat.apply({ type: "result", ts: 2, turn: null, message_id: "k", text: "Which?", id: "r" });
  chat.apply({ type: "user", ts: 1, turn: null, message_id: "k", text: "/resume", command: true });
  assert.deepEqual(chat.queue, []);
  const { command, text } = chat.items.at(-1);
  assert.deepEqual({ command, text }, { command: "/resume", text: "Which?" });
});

test("a command with a reply is not shown as sending", () => {
  const chat = new Chat("s");
  chat.send("k", "/resume", []);
  chat.load(snapshot(0)); // taken while the command is worked on: it waits no more
  chat.apply({ type: "result", ts: 2, turn: null, message_id: "k", text: "Which?", id: "r" });
  assert.deepEqual(chat.items.map((item) => item.kind), ["aside"]);
  assert.equal(chat.sending.size, 0);
});

test("a snapshot of a running reply continues what is drawn", () => {
  const chat = new Chat("s");
  play(chat, 0, 5);
  const live = chat.items.at(-1);
  chat.load(snapshot(6));
  assert.equal(chat.items.at(-1), live);
  assert.ok(play(chat, 6));
  assert.deepEqual(shown(chat), WHOLE);
});

test("a notice during a turn keeps its place", () => {
  const chat = new Chat("s");
  const makeEvent = (type, ts, more) => ({ type, session: "s", turn: "t", ts, attempt: 1, ...more });
  const asking = { ...answer, created: 2, blocks: [{ type: "text", text: "May I?" }] };
  const last = { ...answer, seq: 4, created: 5, part: 1 };
  const all = [
    ...events.slice(0, 3),
    makeEvent("part", 2, { part: 0, text: "May I?" }),
    makeEvent("notice", 3, { plugin: "core", text: "An admin is asked." }),
    makeEvent("notice", 4, { plugin: "shell", text: "It was refused." }),
    makeEvent("delta", 5, { part: 1, n: 0, text: TEXT }),
  ];
  for (const event of all) chat.apply(event);
  const seen = () => chat.items.map((item) => item.text ?? item.blocks[0].text);
  const order = ["hi", "May I?", "An admin is asked.", "shell: It was refused.", TEXT];
  assert.deepEqual(seen(), order);
  chat.apply(makeEvent("result", 6, { messages: [user, asking, last], stop: "done" }));
  assert.deepEqual(seen(), order);
});

test("deltas after a snapshot that has their stored answer add nothing", () => {
  // The turn was read before its first delta, and the messages when the answer had been stored.
  for (const at of [3, 4, 6]) {
    const chat = new Chat("s");
    chat.load({ ...snapshot(at), messages: [user, answer] });
    assert.deepEqual(shown(chat), WHOLE, `${at}`);
    for (let n = at; n < events.length; n += 1) {
      assert.ok(chat.apply(events[n], events[n].id), `${at} ${n}`);
      assert.deepEqual(shown(chat), WHOLE, `${at} ${n}`);
    }
  }
});

test("a failed answer keeps its words and has its error once", () => {
  const chat = new Chat("s");
  play(chat, 0, 5);
  chat.apply({ type: "error", turn: "t", ts: 3, text: "The line went dead." });
  const broken = { ...answer, blocks: [{ type: "text", text: "Some words, " }], error: "The line went dead.", stop: "error" };
  chat.apply({ type: "result", turn: "t", ts: 3, text: "Some words, \n\nThe line went dead.", messages: [user, broken], stop: "error" });
  assert.deepEqual(chat.items.map((one) => [one.role, one.error ?? ""]), [["user", ""], ["assistant", "The line went dead."]]);
  assert.equal(chat.items[1].blocks[0].text, "Some words, ");
});
