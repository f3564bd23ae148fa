/**
 * One event stream a browser: the tab that holds the lock reads it and tells the others. @module
 *
 * Where there are no Web Locks (a page that is neither HTTPS nor on loopback) each tab reads its own.
 */
import { refusal } from "./api.js";
import { uuid } from "./util.js";

const FIRST_WAIT = 500;
const LONGEST_WAIT = 15000;
const BUSY = 8;
/** Milliseconds for which events are taken without a pause. */
const SILENCE = 40000;
/** A stream that says nothing for so long is dead: the server sends a comment every 15 s. */

/** Reads server-sent events, whatever pieces they come in. */
export class EventReader {
  constructor() {
    this.rest = "";
  }

  /**
   * @param {string} text
   * @returns {Array<{id: string, data: string}>} the events that are whole now
   */
  feed(text) {
    this.rest += text;
    const found = [];
    for (;;) {
      const end = this.rest.indexOf("\n\n");
      if (end < 0) return found;
      const event = { id: "", data: "" };
      for (const line of this.rest.slice(0, end).split("\n")) {
        if (line.startsWith("id:")) event.id = line.slice(3).trim();
        if (line.startsWith("data:")) event.data += line.slice(5).trim();
      }
      this.rest = this.rest.slice(end + 2);
      if (event.data) found.push(event);
    }
  }
}

/**
 * @typedef {{event: (event: any, id: string) => void, state: (state: string) => void}} Listener
 */
export class Stream {
  /** @param {Listener} listener `state` is `open`, `waiting` or `expired` */
  constructor(listener) {
    this.listener = listener;
    this.tab = uuid();
    this.last = "";
    this.leading = false;
    this.state = "";
    /** What each tab shows: session to the cursor of its snapshot. @type {Map<string, object>} */
    this.wants = new Map([[this.tab, {}]]);
    this.asked = "";
    this.covered = new Map(); // what the last stream told of; `last` says nothing of other chats
    this.wait = FIRST_WAIT;
    this.stop = new AbortController();
    this.channel = "BroadcastChannel" in globalThis ? new BroadcastChannel("hookline") : null;
    if (this.channel) this.channel.onmessage = ({ data }) => this.heard(data);
  }

  /** @param {string} last the event after which to go on */
  begin(last) {
    this.last = last;
    addEventListener("pagehide", () => this.tell({ kind: "bye", tab: this.tab }));
    addEventListener("online", () => this.again());
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "visible" && this.state === "waiting") this.again();
    });
    if (navigator.locks && this.channel) {
      this.tell({ kind: "want", tab: this.tab, sessions: this.wants.get(this.tab) });
      navigator.locks.request("hookline-events", () => this.lead());
    } else this.lead();
  }

  /** Show other sessions from now on. @param {Record<string, string>} sessions id to cursor */
  want(sessions) {
    this.wants.set(this.tab, sessions);
    this.tell({ kind: "want", tab: this.tab, sessions });
    this.changed();
  }

  /** Read the stream as long as this tab lives. */
  async lead() {
    this.leading = true;
    this.tell({ kind: "who" });
    // What the others show is part of the first request, unless they are slow to say so.
    await new Promise((done) => setTimeout(done, this.channel ? 20 : 0));
    for (;;) {
      const again = await this.read().catch(() => true);
      if (!again) return this.say("expired");
      if (this.stop.signal.aborted) continue;
      this.say("waiting");
      await this.pause();
      this.wait = Math.min(this.wait * 2, LONGEST_WAIT);
    }
  }

  async pause() {
    const waited = this.wait * (0.75 + Math.random() / 2);
    await new Promise((done) => {
      const timer = setTimeout(done, waited);
      this.stop.signal.addEventListener("abort", () => (clearTimeout(timer), done(null)));
    });
  }

  /** The sessions of all tabs, as the request names them. */
  sessions() {
    const all = new Map();
    for (const sessions of this.wants.values()) {
      for (const [id, cursor] of Object.entries(sessions)) all.set(id, cursor || all.get(id) || "");
    }
    for (const id of this.covered.keys()) if (all.has(id)) all.set(id, this.last || all.get(id));
    return all;
  }

  /** @returns {Promise<boolean>} whether to try again */
  async read() {
    this.stop = new AbortController();
    const { signal } = this.stop;
    const sessions = this.sessions();
    this.asked = [...sessions.keys()].sort().join();
    const query = new URLSearchParams({ sessions: [...sessions].map((one) => one.join("@")).join() });
    if (this.last) query.set("last", this.last);
    let dead = setTimeout(() => this.stop.abort(), SILENCE);
    try {
      const response = await fetch(`/api/events?${query}`, {
        headers: { Accept: "text/event-stream" },
        signal,
      });
      if (!response.ok) {
        const error = await refusal(response);
        this.wait = Math.max(this.wait, error.retry * 1000);
        return error.status !== 401 && error.status !== 403;
      }
      this.wait = FIRST_WAIT;
      this.covered = sessions;
      this.say("open");
      const reader = new EventReader();
      const body = /** @type {ReadableStream} */ (response.body).pipeThrough(
        new TextDecoderStream(),
      );
      const pieces = body.getReader(); // Safari has no asynchronous iteration of streams
      for (;;) {
        const { done, value: text } = await pieces.read();
        if (done) break;
        clearTimeout(dead);
        dead = setTimeout(() => this.stop.abort(), SILENCE);
        let began = performance.now();
        for (const { id, data } of reader.feed(text)) {
          this.pass(JSON.parse(data), id);
          if (performance.now() - began < BUSY) continue;
          await new Promise((done) => setTimeout(done)); // let the page draw and listen
          began = performance.now();
        }
      }
    } finally {
      clearTimeout(dead);
    }
    return true;
  }

  /** @param {any} event @param {string} id */
  pass(event, id) {
    this.tell({ kind: "event", event, id });
    this.got(event, id);
  }

  /** @param {any} event @param {string} id */
  got(event, id) {
    if (id) this.last = id;
    this.listener.event(event, id);
  }

  /** @param {string} state */
  say(state) {
    if (this.leading) this.tell({ kind: "state", state });
    if (state === this.state) return;
    this.state = state;
    this.listener.state(state);
  }

  /** @param {any} said by another tab */
  heard(said) {
    if (said.kind === "event" && !this.leading) this.got(said.event, said.id);
    else if (said.kind === "state" && !this.leading) this.say(said.state);
    else if (said.kind === "who") {
      this.tell({ kind: "want", tab: this.tab, sessions: this.wants.get(this.tab) });
    } else if (said.kind === "want" && said.tab !== this.tab) {
      this.wants.set(said.tab, said.sessions);
      if (this.leading && this.state) this.tell({ kind: "state", state: this.state });
      this.changed();
    } else if (said.kind === "bye") this.wants.delete(said.tab);
    else if (said.kind === "again" && this.leading) this.again();
  }

  /** Ask anew if a session is missing from the stream. */
  changed() {
    if (!this.leading || !this.asked && !this.state) return;
    const asked = this.asked.split(",");
    if ([...this.sessions().keys()].some((id) => !asked.includes(id))) this.again();
  }

  /** Begin the request anew, at once. */
  again() {
    if (this.leading) {
      this.wait = FIRST_WAIT;
      this.stop.abort();
    } else this.tell({ kind: "again" });
  }

  /** @param {any} said */
  tell(said) {
    this.channel?.postMessage(said);
  }
}
