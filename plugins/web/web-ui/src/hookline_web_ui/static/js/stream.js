/**
 * One event stream per browser: the tab that holds a lock reads it and forwards it to the others.
 *
 * Without Web Locks (on plain HTTP, except loopback) each tab has its own stream. @module
 */
import { errorFrom } from "./api.js";
import { uuid } from "./util.js";

const MIN_RETRY_MS = 500;
const MAX_RETRY_MS = 15000;
/** Milliseconds for which events are handled without a pause. */
const MAX_BUSY_MS = 8;
/** A stream is dead after so many milliseconds without data: the server sends a comment every 15 s. */
const SILENCE_TIMEOUT_MS = 40000;

/** Parses server-sent events from chunks of text. */
export class EventReader {
  constructor() {
    this.rest = "";
  }

  /**
   * @param {string} text
   * @returns {Array<{id: string, data: string, followed: boolean}>} the events that are complete
   */
  feed(text) {
    this.rest += text;
    const found = [];
    for (;;) {
      const end = this.rest.indexOf("\n\n");
      if (end < 0) return found;
      const event = { id: "", data: "", followed: true };
      for (const line of this.rest.slice(0, end).split("\n")) {
        if (line.startsWith("id:")) event.id = line.slice(3).trim();
        if (line.startsWith("data:")) event.data += line.slice(5).trim();
        if (line === "followed: no") event.followed = false;
      }
      this.rest = this.rest.slice(end + 2);
      if (event.data) found.push(event);
    }
  }
}

/**
 * @typedef {{event: (event: any, id: string, followed: boolean) => void, state: (state: string) => void}} Listener
 */
export class Stream {
  /** @param {Listener} listener `state` is `open`, `waiting` or `expired` */
  constructor(listener) {
    this.listener = listener;
    this.tab = uuid();
    this.last = "";
    this.leading = false;
    this.state = "";
    /** The sessions that each tab shows, with the cursors of their snapshots. @type {Map<string, object>} */
    this.sessionsByTab = new Map([[this.tab, {}]]);
    /** The sessions of the last request; null before the first. @type {string|null} */
    this.requested = null;
    this.covered = new Map(); // the sessions of the last stream; `last` does not apply to others
    this.wait = MIN_RETRY_MS;
    this.stop = new AbortController();
    this.channel = "BroadcastChannel" in globalThis ? new BroadcastChannel("hookline") : null;
    if (this.channel) this.channel.onmessage = ({ data }) => this.onMessage(data);
  }

  /** @param {string} last the id of the last known event */
  begin(last) {
    this.last = last;
    addEventListener("pagehide", () => this.post({ kind: "bye", tab: this.tab }));
    addEventListener("online", () => this.restart());
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "visible" && this.state === "waiting") this.restart();
    });
    if (navigator.locks && this.channel) {
      this.post({ kind: "want", tab: this.tab, sessions: this.sessionsByTab.get(this.tab) });
      navigator.locks.request("hookline-events", () => this.lead());
    } else this.lead();
  }

  /** Set the sessions that this tab shows. @param {Record<string, string>} sessions id to cursor */
  want(sessions) {
    this.sessionsByTab.set(this.tab, sessions);
    this.post({ kind: "want", tab: this.tab, sessions });
    this.changed();
  }

  /** Read the stream until the tab is closed. */
  async lead() {
    this.leading = true;
    this.post({ kind: "who" });
    // Wait for the other tabs to report their sessions, for the first request.
    await new Promise((done) => setTimeout(done, this.channel ? 20 : 0));
    for (;;) {
      const again = await this.read().catch(() => true);
      if (!again) return this.setState("expired");
      if (this.stop.signal.aborted) continue;
      this.setState("waiting");
      await this.pause();
      this.wait = Math.min(this.wait * 2, MAX_RETRY_MS);
    }
  }

  async pause() {
    const waited = this.wait * (0.75 + Math.random() / 2);
    await new Promise((done) => {
      const timer = setTimeout(done, waited);
      this.stop.signal.addEventListener("abort", () => (clearTimeout(timer), done(null)));
    });
  }

  /** The sessions of all tabs with their cursors. */
  sessions() {
    const all = new Map();
    for (const sessions of this.sessionsByTab.values()) {
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
    this.requested = [...sessions.keys()].sort().join();
    const query = new URLSearchParams({ sessions: [...sessions].map((one) => one.join("@")).join() });
    if (this.last) query.set("last", this.last);
    let dead = setTimeout(() => this.stop.abort(), SILENCE_TIMEOUT_MS);
    try {
      const response = await fetch(`/api/events?${query}`, {
        headers: { Accept: "text/event-stream" },
        signal,
      });
      if (!response.ok) {
        const error = await errorFrom(response);
        this.wait = Math.max(this.wait, error.retry * 1000);
        return error.status !== 401 && error.status !== 403;
      }
      this.wait = MIN_RETRY_MS;
      this.covered = sessions;
      this.setState("open");
      const reader = new EventReader();
      const body = /** @type {ReadableStream} */ (response.body).pipeThrough(new TextDecoderStream());
      const pieces = body.getReader(); // Safari has no asynchronous iteration of streams
      for (;;) {
        const { done, value: text } = await pieces.read();
        if (done) break;
        clearTimeout(dead);
        dead = setTimeout(() => this.stop.abort(), SILENCE_TIMEOUT_MS);
        let began = performance.now();
        for (const { id, data, followed } of reader.feed(text)) {
          this.pass(JSON.parse(data), id, followed);
          if (performance.now() - began < MAX_BUSY_MS) continue;
          await new Promise((done) => setTimeout(done)); // let the page handle input and draw
          began = performance.now();
        }
      }
    } finally {
      clearTimeout(dead);
    }
    return true;
  }

  /** @param {any} event @param {string} id @param {boolean} followed whether the stream has all events of its session */
  pass(event, id, followed) {
    this.post({ kind: "event", event, id, followed });
    this.deliver(event, id, followed);
  }

  /** @param {any} event @param {string} id @param {boolean} followed */
  deliver(event, id, followed) {
    if (id) this.last = id;
    this.listener.event(event, id, followed);
  }

  /** @param {string} state */
  setState(state) {
    if (this.leading) this.post({ kind: "state", state });
    if (state === this.state) return;
    this.state = state;
    this.listener.state(state);
  }

  /** @param {any} message from another tab */
  onMessage(message) {
    if (message.kind === "event" && !this.leading) this.deliver(message.event, message.id, message.followed);
    else if (message.kind === "state" && !this.leading) this.setState(message.state);
    else if (message.kind === "who") {
      this.post({ kind: "want", tab: this.tab, sessions: this.sessionsByTab.get(this.tab) });
    } else if (message.kind === "want" && message.tab !== this.tab) {
      this.sessionsByTab.set(message.tab, message.sessions);
      if (this.leading && this.state) this.post({ kind: "state", state: this.state });
      this.changed();
    } else if (message.kind === "bye") this.sessionsByTab.delete(message.tab);
    else if (message.kind === "again" && this.leading) this.restart();
  }

  /** Restart the stream if it lacks a session. */
  changed() {
    if (this.requested == null) return;
    const requested = this.requested.split(",");
    if ([...this.sessions().keys()].some((id) => !requested.includes(id))) this.restart();
  }

  /** Restart the stream at once. */
  restart() {
    if (this.leading) {
      this.wait = MIN_RETRY_MS;
      this.stop.abort();
    } else this.post({ kind: "again" });
  }

  /** Send to the other tabs. @param {any} message */
  post(message) {
    this.channel?.postMessage(message);
  }
}
