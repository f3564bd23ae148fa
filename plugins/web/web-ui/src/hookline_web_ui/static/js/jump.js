/** Scrolls to a message that was found by a search. @module */
import { call } from "./api.js";

/** Milliseconds to wait for the messages to be drawn, and again for their final height. */
const WAITS = [100, 400];
/** How many entries to draw before the message. */
const BEFORE = 50;

/**
 * Load earlier messages until there is the one with the sequence `seq`, and show it.
 * @param {import("./chat.js").Chat} chat @param {(rest: string) => string} address @param {number} seq
 */
export async function jump(chat, address, seq) {
  const first = () => chat.items.find((item) => item.seq != null)?.seq ?? 0;
  while (chat.more && first() > seq) {
    chat.prepend(await call("GET", address(`?tail=1000&before=${first()}`)));
  }
  const item = chat.items.findLast((one) => one.kind === "message" && one.seq != null && one.seq <= seq);
  if (!item) return;
  chat.top = chat.items[Math.max(chat.items.indexOf(item) - BEFORE, 0)];
  chat.changed();
  for (const wait of WAITS) {
    await new Promise((done) => setTimeout(done, wait));
    const found = document.querySelector(`[data-message="${item.seq}"]`);
    found?.scrollIntoView({ block: "start" }); // the log keeps in place what is at its top
    found?.classList.add("found");
  }
}
