/** The open question, between the log and the composer, so that its buttons stay in view. @module */
import { html, useEffect, useLayoutEffect, useState } from "../vendor/preact.js";
import { N_, t } from "./i18n.js";
import { choiceLabel } from "./question_text.js";
import { person } from "./shell.js";
import { Quoting, Visible } from "./text.js";
import { now } from "./util.js";

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
  if (seconds <= 0) return t("This request has expired.");
  const minutes = Math.floor(seconds / 60);
  if (minutes >= 10) return minutes < 90 ? t("{n} min left", { n: minutes }) : t("{n} h left", { n: Math.round(minutes / 60) });
  return minutes ? t("{min} min {s} s left", { min: minutes, s: seconds % 60 }) : t("{n} s left", { n: seconds });
}

/** The Unix time in seconds, now and after each second. */
export function useNow() {
  const [at, tick] = useState(now());
  useEffect(() => {
    const timer = setInterval(() => tick(now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return at;
}

/** A sentence with the seconds until then as `{n}`. @param {{until: number, sentence: string}} props Unix time in seconds */
export const Until = ({ until, sentence }) => t(sentence, { n: Math.max(0, Math.ceil(until - useNow())) });

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
    ${question.takes_words && html`<label>${t("Answer")} <input name="words" autocomplete="off" required /></label>`}
    <button class="primary">${t("Send")}</button>
  </form>`;
}

const [ONCE, ALWAYS] = ["Allow once", "Allow always"];
const SCOPES = N_("“In this session” and “always” cover this exact call and nothing else: in this chat, or in all your chats.");

/** "Other" is typed in the composer. */
const write = () => /** @type {HTMLElement|null} */ (document.querySelector(".composer textarea"))?.focus();

/**
 * A question whose middle is left out can be accepted once all of it was opened.
 * @param {{question: any, answer: (choice: string, shown: string) => Promise<void>, showAll: () => Promise<any>, problem: string}} props
 */
export function QuestionDock({ question, answer, showAll, problem }) {
  const [busy, setBusy] = useState("");
  const [whole, setWhole] = useState(/** @type {any} */ (null));
  useLayoutEffect(() => {
    setBusy("");
    setWhole(null);
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
    await answer(choice, whole?.digest ?? "");
    setBusy("");
  };
  const open = async () => {
    const found = await showAll();
    if (found?.id === question.id) setWhole(found);
  };
  const hidden = question.abridged && !whole;
  const last = question.choices?.at(-1)?.id;
  const why = [
    question.text && !(approval && question.text === question.preview) && html`<p class=${question.preview ? "small" : ""}><${Quoting} text=${question.text} /></p>`,
    question.reason && !question.text?.includes(question.reason) && html`<p class="quiet small"><${Quoting} text=${question.reason} /></p>`,
  ];
  return html`<section
    class="dock" role="group" aria-label=${approval ? t("Approval") : t("Question")}
    data-question=${question.id}
  >
    <div class="dock-head">
      <h2>${approval ? t("Allow this command?") : t("Question")}</h2>
      ${question.expires && html`<${Countdown} expires=${question.expires} />`}
    </div>
    ${approval && html`<div class="dock-why" tabindex="0">${why}</div>`}
    <div class="dock-body" tabindex="0">
      ${question.asker && question.asker !== person() && html`<p class="quiet small"><${Visible} text=${t("For {person} in chat {chat}", { person: question.asker_name, chat: question.chat_name })} /></p>`}
      ${question.preview && html`<pre class="command"><${Command} text=${whole?.preview ?? question.preview} marks=${question.marks} /></pre>`}
      ${!approval && why}
    </div>
    ${hidden
      ? html`<p class="small">
          ${t("Only the beginning and the end are shown.")}${" "}
          <button type="button" onClick=${open}>${t("Show all {n} characters", { n: question.abridged })}</button>
        </p>`
      : null}
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
                class=${choice.style === "danger" || choice.style === "primary" ? choice.style : approval && choice.id === ONCE ? "primary" : ""}
                aria-disabled=${busy ? "true" : undefined}
                disabled=${Boolean(hidden && choice.id !== last)}
                onClick=${() => press(choice.id)}
              >
                <${Visible} text=${choiceLabel(choice.label)} />
              </button>`,
          )}
          ${question.ends_turn && question.choices?.length
            ? html`<button type="button" onClick=${write}>${t("Other")}</button>`
            : null}
        </div>
        ${approval && question.choices?.some((/** @type {any} */ one) => one.id === ALWAYS) && html`<p class="quiet small">${t(SCOPES)}</p>`}`
      : html`<p class="quiet small">${t("Only an admin can answer this.")}</p>`}
  </section>`;
}
