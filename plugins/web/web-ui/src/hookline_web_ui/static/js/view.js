/** Renders the JSON of a view, which describes a plugin's page. @module */
import { html } from "../vendor/preact.js";
import { number, t, tn } from "./i18n.js";
import { markdown } from "./markdown.js";
import { DiffView, Visible } from "./text.js";
import { clock, cut, duration, inside } from "./util.js";
import { prose, spelled } from "./visible.js";

const MAX_STEPS_SHOWN = 200;

/** @param {{view: any, level?: number}} props */
export function ViewParts({ view, level = 3 }) {
  return (view.parts ?? []).map((/** @type {any} */ part) => html`<${Part} ...${{ part, level }} />`);
}

/** @param {string} text @param {number} level */
const heading = (text, level) => (text ? html`<${`h${level}`}>${spelled(text)}</${`h${level}`}>` : null);

/** @param {{part: any, level: number}} props @returns {any} */
function Part({ part, level }) {
  switch (part.type) {
    case "text": {
      const paragraphs = part.text.split(/\n\s*\n/).map((/** @type {string} */ one) => html`<p>${prose(one)}</p>`);
      return html`<div class=${part.tone === "neutral" ? "text" : `notice tone-${part.tone}`}>${paragraphs}</div>`;
    }
    case "markdown":
      return html`<div class="md">${markdown(part.text)}</div>`;
    case "stats":
      return html`<dl class="stats">${part.items.map(stat)}</dl>`;
    case "table":
      return html`<${TableView} ...${{ part, level }} />`;
    case "timeline":
      return html`<${TimelineView} ...${{ part, level }} />`;
    case "diff":
      return html`<div class="part">${heading(part.name, level)}<${DiffView} diff=${part} /></div>`;
    case "chart":
      return html`<div class="part">${heading(part.title, level)}${figures(part)}</div>`;
    case "group":
      return html`<details class="group" open=${part.open}>
        <summary>${spelled(part.title)}</summary>
        <div class="inner"><${ViewParts} view=${part} level=${Math.min(level + 1, 6)} /></div>
      </details>`;
    case "actions":
      return html`<div class="actions">
        ${part.items
          .filter((/** @type {any} */ one) => one.get)
          .map((/** @type {any} */ one) => {
            const query = new URLSearchParams(one.fields).toString();
            return html`<a class="button" href=${inside(one.path) + (query && `?${query}`)}>${one.label}</a>`;
          })}
      </div>`;
    default:
      return null; // forms are only on pages
  }
}

/** @param {any} one */
const stat = (one) =>
  html`<div class="stat">
    <dt>${one.label}</dt>
    <dd class=${`value tone-${one.tone}`}>${spelled(String(one.value))}</dd>
    ${one.detail ? html`<dd class="more">${spelled(one.detail)}</dd>` : null}
  </div>`;

/** @param {any} value */
function cell(value) {
  if (value == null) return null;
  if (typeof value === "number") return number(value);
  switch (value.type) {
    case "link":
      return html`<a href=${inside(value.href)}>${spelled(value.text)}</a>`;
    case "badge":
      return html`<span class=${`badge tone-${value.tone}`}>${spelled(value.text)}</span>`;
    case "code":
      return html`<code><${Visible} text=${value.text} /></code>`;
    case "named":
      if (!value.id || value.id === value.text) return html`<${Visible} text=${value.text} />`;
      return html`<details class="named"><summary><${Visible} text=${value.text} /></summary><code><${Visible} text=${value.id} /></code></details>`;
    case "timestamp":
      return html`<time>${clock(value.at)}</time>`;
    default:
      return html`<${Visible} text=${String(value)} />`;
  }
}

/** @param {{part: any, level: number}} props */
function TableView({ part, level }) {
  const numbers = (/** @type {any} */ value) => (typeof value === "number" ? "num" : undefined);
  return html`<section class="part">
    ${heading(part.title, level)}
    ${part.rows.length
      ? html`<div class="scroll" tabindex="0" role="group" aria-label=${part.title || t("Table")}>
          <table class="data">
            <thead>
              <tr>${part.columns.map((/** @type {string} */ name, /** @type {number} */ n) => html`<th scope="col" class=${numbers(part.rows[0].cells[n])}>${name}</th>`)}</tr>
            </thead>
            <tbody>${part.rows.map((/** @type {any} */ row) => tableRow(row, part.columns.length, numbers))}</tbody>
          </table>
        </div>`
      : html`<p class="empty">${part.empty}</p>`}
    ${part.more ? html`<a class="button" href=${inside(part.more.href)}>${part.more.text}</a>` : null}
  </section>`;
}

/** @param {any} row @param {number} width @param {(value: any) => string|undefined} numbers */
const tableRow = (row, width, numbers) => [
  html`<tr>${row.cells.map((/** @type {any} */ one) => html`<td class=${numbers(one)}>${cell(one)}</td>`)}</tr>`,
  row.detail && html`<tr class="detail"><td colspan=${width}><${Folded} text=${row.detail} title=${t("Details")} /></td></tr>`,
];

/** @param {any} part */
function figures(part) {
  const names = Object.keys(part.series);
  const rows = part.labels.map((/** @type {string} */ label, /** @type {number} */ n) => ({
    cells: [label, ...names.map((name) => part.series[name][n] ?? null)],
  }));
  return html`<${TableView} part=${{ columns: ["", ...names], rows, title: "" }} level=${4} />`;
}

/** @param {any[]} steps @returns {number} */
const end = (steps) => steps.reduce((most, m) => Math.max(most, (m.start ?? 0) + (m.ms ?? 0), end(m.children)), 0);

/** The part of a timeline below which a step is short, and how many of these are folded. */
const [SHORT_PART, MIN_FOLDED_STEPS] = [0.01, 3];

/** Whether a step took little time and has nothing to tell. @param {any} step @param {number} whole @returns {boolean} */
const isShort = ({ ms, detail, tone, children }, whole) =>
  ms != null && ms < Math.max(whole * SHORT_PART, 0.1) && !detail && tone === "neutral" && children.every((/** @type {any} */ one) => isShort(one, whole));

/** Each step on its own, and short steps after each other together. @param {any[]} steps @param {number} whole @returns {any[][]} */
export function stepRuns(steps, whole) {
  /** @type {any[][]} */
  const runs = [];
  for (const step of steps) {
    const last = runs.at(-1);
    if (last && isShort(step, whole) && isShort(last[0], whole)) last.push(step);
    else runs.push([step]);
  }
  return runs.flatMap((run) => (run.length < MIN_FOLDED_STEPS ? run.map((step) => [step]) : [run]));
}

/** @param {any[]} steps @param {number} whole */
const drawSteps = (steps, whole) =>
  stepRuns(steps, whole).map((run) => {
    const rows = run.map((step) => html`<${TimelineStep} ...${{ step, whole }} />`);
    if (rows.length === 1) return rows[0];
    const ms = run.reduce((sum, step) => sum + step.ms, 0);
    return html`<li>
      <details>
        <summary>${tn("{n} short step", "{n} short steps", run.length)}<span class="ms">${duration(ms)}</span></summary>
        <ol>${rows}</ol>
      </details>
    </li>`;
  });

/** @param {{part: any, level: number}} props */
function TimelineView({ part, level }) {
  const whole = Math.max(end(part.steps), 1);
  const rest = part.steps.slice(MAX_STEPS_SHOWN);
  return html`<section class="part">
    ${heading(part.title, level)}
    <ol class="timeline">
      ${drawSteps(part.steps.slice(0, MAX_STEPS_SHOWN), whole)}
      ${rest.length > 0 &&
      html`<li>
        <details><summary>${tn("{n} more step", "{n} more steps", rest.length)}</summary><ol>${drawSteps(rest, whole)}</ol></details>
      </li>`}
    </ol>
  </section>`;
}

/** @param {{step: any, whole: number}} props @returns {any} */
function TimelineStep({ step, whole }) {
  const start = Math.min((100 * (step.start ?? 0)) / whole, 99);
  const width = Math.min(Math.max((100 * (step.ms ?? 0)) / whole, 0.8), 100 - start);
  const known = step.start != null || step.ms != null;
  return html`<li>
    <div class=${`timeline-step tone-${step.tone}`}>
      <span class="what">${spelled(step.title)} ${step.who && html`<span class="who">${spelled(step.who)}</span>`}</span>
      <svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
        ${known && html`<rect x=${start} width=${width} height="6" />`}
      </svg>
      <span class="ms">${duration(step.ms)}</span>
    </div>
    ${step.detail && html`<${Folded} text=${step.detail} />`}
    ${step.children.length > 0 && html`<ol>${drawSteps(step.children, whole)}</ol>`}
  </li>`;
}

/** @param {{text: string, title?: string}} props */
export function Folded({ text, title }) {
  if (!title && text.length < 80 && !text.includes("\n")) return html`<p class="quiet small"><${Visible} text=${text} /></p>`;
  return html`<details>
    <summary>${title ?? spelled(cut(text.trim().split("\n")[0], 80))}</summary>
    <pre class="long" tabindex="0"><${Visible} text=${text} /></pre>
  </details>`;
}
