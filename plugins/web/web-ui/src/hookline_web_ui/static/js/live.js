/** Pages other than the chat: local times, confirmations, and refreshing. @module */
import { locale, t } from "./i18n.js";
import { OpenQuestions } from "./inbox_count.js";
import { begin, confirmed } from "./shell.js";
import { clock } from "./util.js";

/** @param {ParentNode} root */
function localTimes(root) {
  for (const time of root.querySelectorAll("time[data-at]")) {
    const at = Number(/** @type {HTMLElement} */ (time).dataset.at);
    time.textContent = clock(at);
    time.setAttribute("title", new Date(at * 1000).toLocaleString(locale, { dateStyle: "full", timeStyle: "long" }));
  }
}

/** @param {SubmitEvent} event */
async function sent(event) {
  const form = /** @type {HTMLFormElement} */ (event.target);
  if (event.defaultPrevented || form.method === "dialog") return;
  if (form.dataset.confirm && !form.dataset.sure) {
    event.preventDefault();
    if (await confirmed(form.dataset.confirm, form.dataset.label ?? t("Continue"))) {
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
      document.querySelector("dialog[open], details.named[open]") ||
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
