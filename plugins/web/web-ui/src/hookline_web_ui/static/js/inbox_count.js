/** The open questions that the person may answer: followed on every page, counted in the navigation. @module */
import { call } from "./api.js";
import { tn } from "./i18n.js";
import { element } from "./shell.js";
import { Stream } from "./stream.js";

/** Withdraw the notification of a question that is closed. @param {string} tag */
async function closeNotification(tag) {
  const worker = await navigator.serviceWorker?.getRegistration("/");
  for (const one of (await worker?.getNotifications({ tag })) ?? []) one.close();
}

export class OpenQuestions {
  /** @param {() => void} changed */
  constructor(changed = () => {}) {
    /** @type {Map<string, any>} */
    this.byId = new Map();
    this.changed = changed;
  }

  /** @param {any[]} questions those of `GET /api/state` */
  load(questions) {
    this.byId = new Map(questions.map((one) => [one.id, one]));
    this.draw();
  }

  /** @param {any} event */
  apply(event) {
    if (event.type === "question" && event.inbox && event.may_answer) this.byId.set(event.id, event);
    else if (event.type === "answered") {
      if (!this.byId.delete(event.question)) return;
    } else {
      // A new turn or another version answers the question that the last one ended with; so does putting the chat away.
      const { row } = event;
      const over = event.state === "running" || event.deleted || row?.archived || row?.ended;
      const isOver = (/** @type {any} */ one) =>
        one.session === event.session ? over : one.root === row?.root && (row?.archived || row?.updated > one.updated);
      const ended = [...this.byId.values()].filter((one) => one.ends_turn && isOver(one));
      if (!ended.length) return;
      for (const one of ended) this.byId.delete(one.id);
    }
    if (event.type === "answered") closeNotification(event.question);
    this.draw();
  }

  /** Follow the questions on a page that has no other stream. */
  async follow() {
    const load = async () => {
      const state = await call("GET", "/api/state");
      this.load(state.questions);
      return state.cursor;
    };
    const event = (/** @type {any} */ one) =>
      one.type === "resync" ? one.session == null && load().catch(() => {}) : this.apply(one);
    const cursor = await load();
    new Stream({ event, state: () => {} }).begin(cursor);
  }

  draw() {
    this.changed();
    const shown = [...document.querySelectorAll("[data-inbox] [data-question]")].map((one) => one.getAttribute("data-question"));
    // The inbox itself shows what has changed, but an answer on its way is not interrupted.
    const stale = document.querySelector("[data-inbox]") && `${shown}` !== `${[...this.byId.keys()]}`;
    if (stale && !document.querySelector("form[data-sent]")) location.reload();
    const count = this.byId.size;
    document.title = `${count ? `(${count}) ` : ""}${document.title.replace(/^\(\d+\) /, "")}`;
    const link = document.querySelector('.nav-main a[href="/inbox"]');
    link?.querySelector(".count")?.remove();
    const words = element("span", { class: "unseen" }, ` ${tn("open question", "open questions", count)}`);
    if (count) link?.append(element("span", { class: "badge count" }, `${count}`, words));
  }
}
