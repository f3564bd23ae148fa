/** The open question, between the log and the composer, so that its buttons stay in view. @module */
import { html, useEffect, useLayoutEffect, useState } from "../vendor/preact.js";
import { Quoting, Visible } from "./text.js";

/** Parts of a command to highlight; guards decide independently. */
const RISKY = new RegExp(
  [
    "⟦[^⟧]*⟧",
    "\\brm\\s+(?:-\\w+\\s+)*-\\w*[rf]\\w*[^\\n;|&]*",
    "\\bsudo\\b",
    "\\|\\s*(?:sudo\\s+)?(?:ba|z|da|k)?sh\\b",
    "\\bmkfs[^\\n;|&]*",
    "\\bdd\\s+[^\\n;|&]*of=[^\\n;|&]*",
    ">\\s*/(?:dev/(?!null\\b)|etc|usr|boot)[^\\s;|&]*",
    "\\bchmod\\s+(?:-R\\s+)?[0-7]*777\\b",
    "\\bgit\\s+(?:push\\s+[^\\n;|&]*(?:--force|-f)\\b|reset\\s+--hard|clean\\s+-\\w*f)[^\\n;|&]*",
    "\\b(?:shutdown|reboot)\\b",
    "\\b(?:DROP|TRUNCATE)\\s+(?:TABLE|DATABASE|SCHEMA)\\b[^\\n;]*",
    "\\bDELETE\\s+FROM\\b[^\\n;]*",
    "\\bfind\\b[^\\n;|&]*\\s-delete\\b",
  ].join("|"),
  "gi",
);

/** @param {{text: string, marks?: string[]}} props `marks` are the parts that a guard flagged */
export function Command({ text, marks = [] }) {
  const named = marks.map((one) => one.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(new RegExp([...named, RISKY.source].join("|"), "gi"))) {
    parts.push(plain(text.slice(end, match.index)));
    const risky = match[0].trimEnd();
    parts.push(html`<mark>${plain(risky)}</mark>`);
    end = match.index + risky.length;
  }
  return html`<code>${parts}${plain(text.slice(end))}</code>`;
}

/** @param {string} text */
const plain = (text) => html`<${Visible} text=${text} />`;

/** @param {number} seconds */
function left(seconds) {
  if (seconds <= 0) return "This request has expired.";
  const minutes = Math.floor(seconds / 60);
  return minutes ? `${minutes} min ${seconds % 60} s left` : `${seconds} s left`;
}

/** @param {{expires: number}} props Unix time in seconds */
function Countdown({ expires }) {
  const [now, tick] = useState(Date.now() / 1000);
  useEffect(() => {
    const timer = setInterval(() => tick(Date.now() / 1000), 1000);
    return () => clearInterval(timer);
  }, []);
  return html`<span class="quiet small" role="timer">${left(Math.ceil(expires - now))}</span>`;
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
    class="dock"
    role="group"
    aria-label=${approval ? "Approval" : "Question"}
    data-question=${question.id}
  >
    <div class="dock-head">
      <h2>${approval ? "Allow this command?" : "Question"}</h2>
      ${question.expires && html`<${Countdown} expires=${question.expires} />`}
    </div>
    <div class="dock-body" tabindex="0">
      ${question.text && !(approval && question.text === question.preview)
        ? html`<p><${Quoting} text=${question.text} /></p>`
        : null}
      ${question.reason && !question.text?.includes(question.reason)
        ? html`<p class="quiet small"><${Quoting} text=${question.reason} /></p>`
        : null}
      ${question.preview && html`<pre class="command"><${Command} text=${question.preview} marks=${question.marks} /></pre>`}
    </div>
    ${problem && html`<p class="bad small" role="alert">${problem}</p>`}
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
          ${!approval && question.choices?.length
            ? html`<button type="button" onClick=${write}>Other</button>`
            : null}
        </div>`
      : html`<p class="quiet small">Only an admin can answer this.</p>`}
  </section>`;
}
