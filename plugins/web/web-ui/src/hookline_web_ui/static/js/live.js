/** Pages other than the chat: local times, confirmations, and refreshing. @module */
import { OpenQuestions } from "./inbox_count.js";
import { begin, confirmed } from "./shell.js";

/** @param {ParentNode} root */
function localTimes(root) {
  for (const time of root.querySelectorAll("time[data-at]")) {
    const at = new Date(Number(/** @type {HTMLElement} */ (time).dataset.at) * 1000);
    time.textContent = at.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
    time.setAttribute("title", at.toISOString());
  }
}

/** @param {SubmitEvent} event */
async function sent(event) {
  const form = /** @type {HTMLFormElement} */ (event.target);
  if (event.defaultPrevented || form.method === "dialog") return;
  if (form.dataset.confirm && !form.dataset.sure) {
    event.preventDefault();
    if (await confirmed(form.dataset.confirm, form.dataset.label ?? "Continue")) {
      form.dataset.sure = "yes";
      form.requestSubmit();
    }
    return;
  }
  // Do not submit twice.
  if (form.method === "post") {
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "yes";
  }
}

/** Reload the page, but not while it is being used. @param {number} seconds */
function refresh(seconds) {
  setTimeout(() => {
    const active = document.activeElement;
    const busy =
      document.hidden ||
      active?.matches("input, textarea, select") ||
      document.querySelector("dialog[open]") ||
      !document.getSelection()?.isCollapsed;
    if (busy) refresh(seconds);
    else location.reload();
  }, seconds * 1000);
}

begin();
new OpenQuestions().follow().catch(() => {}); // the count is optional
localTimes(document);
/** @type {HTMLElement|null} */ (document.querySelector("[aria-invalid]"))?.focus();
document.addEventListener("submit", sent);
addEventListener("pageshow", () => {
  for (const form of document.forms) delete form.dataset.sent;
});
const seconds = Number(/** @type {HTMLElement} */ (document.getElementById("main")).dataset.refresh);
if (seconds > 0) refresh(Math.max(seconds, 2));
