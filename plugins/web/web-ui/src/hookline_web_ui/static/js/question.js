/** The open question, between the log and the composer, so that its buttons stay in view. @module */
import { html, useEffect, useLayoutEffect, useState } from "../vendor/preact.js";
import { person } from "./shell.js";
import { Quoting, Visible } from "./text.js";

/** @param {{text: string, marks?: string[]}} props `marks` are the risky parts */
export function Command({ text, marks = [] }) {
  const named = marks.filter(Boolean).sort((a, b) => b.length - a.length);
  if (!named.length) return html`<code>${plain(text)}</code>`;
  const risky = new RegExp(`(${named.map((one) => one.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join("|")})`);
  const parts = text.split(risky).map((one, n) => (n % 2 ? html`<mark>${plain(one)}</mark>` : plain(one)));
  return html`<code>${parts}</code>`;
}

/** @param {string} text */
const plain = (text) => html`<${Visible} text=${text} />`;

/** @param {number} seconds */
function left(seconds) {
  if (seconds <= 0) return "This request has expired.";
  const minutes = Math.floor(seconds / 60);
  if (minutes >= 10) return minutes < 90 ? `${minutes} min left` : `${Math.round(minutes / 60)} h left`;
  return minutes ? `${minutes} min ${seconds % 60} s left` : `${seconds} s left`;
}

/** The Unix time in seconds, now and after each second. */
export function useNow() {
  const [now, tick] = useState(Date.now() / 1000);
  useEffect(() => {
    const timer = setInterval(() => tick(Date.now() / 1000), 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** @param {{expires: number}} props Unix time in seconds */
const Countdown = ({ expires }) =>
  html`<span class="quiet small" role="timer">${left(Math.ceil(expires - useNow()))}</span>`;

/** The values that a question asks for, and a button that sends them. @param {{question: any, send: (answer: string) => void}} props */
function Fields({ question, send }) {
  const submit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const data = Object.fromEntries(new FormData(/** @type {HTMLFormElement} */ (event.target)));
    send(question.takes_words ? String(data.words) : JSON.stringify(data));
  };
  return html`<form class="actions fields" onSubmit=${submit}>
    ${(question.fields ?? []).map(
      (/** @type {any} */ field) => html`<label>
        <${Visible} text=${field.label} />
        ${field.choices.length
          ? html`<select name=${field.name}>
              ${!field.required && html`<option></option>`}
              ${field.choices.map((/** @type {string} */ one) => html`<option>${one}</option>`)}
            </select>`
          : html`<input name=${field.name} autocomplete="off" defaultValue=${field.default ?? ""} />`}
      </label>`,
    )}
    ${question.takes_words && html`<label>Answer <input name="words" autocomplete="off" required /></label>`}
    <button class="primary">Send</button>
  </form>`;
}

/** "Other" is typed in the composer. */
const write = () => /** @type {HTMLElement|null} */ (document.querySelector(".composer textarea"))?.focus();

/**
 * @param {{question: any, answer: (choice: string) => Promise<void>, problem: string}} props
 */
export function QuestionDock({ question, answer, problem }) {
  const [busy, setBusy] = useState("");
  useLayoutEffect(() => {
    setBusy("");
    return () => {
      // The pressed button disappears. Move the focus, so that the next key does not answer another question.
      if (document.activeElement?.closest(".dock") && !matchMedia("(pointer: coarse)").matches) write();
    };
  }, [question.id]);
  const approval = question.kind === "approval";
  const may = question.may_answer !== false;
  const press = async (/** @type {string} */ choice) => {
    if (busy) return;
    setBusy(choice);
    await answer(choice);
    setBusy("");
  };
  return html`<section
    class="dock" role="group" aria-label=${approval ? "Approval" : "Question"}
    data-question=${question.id}
  >
    <div class="dock-head">
      <h2>${approval ? "Allow this command?" : "Question"}</h2>
      ${question.expires && html`<${Countdown} expires=${question.expires} />`}
    </div>
    <div class="dock-body" tabindex="0">
      ${question.asker && question.asker !== person() && html`<p class="quiet small">For <${Visible} text=${`${question.asker} in chat ${question.chat}`} /></p>`}
      ${question.text && !(approval && question.text === question.preview)
        ? html`<p><${Quoting} text=${question.text} /></p>`
        : null}
      ${question.reason && !question.text?.includes(question.reason)
        ? html`<p class="quiet small"><${Quoting} text=${question.reason} /></p>`
        : null}
      ${question.preview && html`<pre class="command"><${Command} text=${question.preview} marks=${question.marks} /></pre>`}
    </div>
    ${problem && html`<p class="bad small" role="alert">${problem}</p>`}
    ${may && (question.fields?.length || question.takes_words)
      ? html`<${Fields} question=${question} send=${press} />`
      : null}
    ${may
      ? html`<div class="actions">
          ${(question.choices ?? []).map(
            (/** @type {any} */ choice) =>
              html`<button
                type="button"
                class=${{ primary: "primary", danger: "danger" }[/** @type {"primary"} */ (choice.style)] ?? ""}
                aria-disabled=${busy ? "true" : undefined}
                onClick=${() => press(choice.id)}
              >
                <${Visible} text=${choice.label} />
              </button>`,
          )}
          ${question.ends_turn && question.choices?.length
            ? html`<button type="button" onClick=${write}>Other</button>`
            : null}
        </div>`
      : html`<p class="quiet small">Only an admin can answer this.</p>`}
  </section>`;
}
