/** Shows a file: as image, Markdown, table, web page, PDF or code, and what has changed in it. @module */
import { html, useEffect, useState } from "../vendor/preact.js";
import { call } from "./api.js";
import { CodeBlock } from "./code.js";
import { markdown } from "./markdown.js";
import { t, tn } from "./i18n.js";
import { DiffView, Visible } from "./text.js";
import { size } from "./util.js";

const MAX_ROWS = 500;
const MAX_COLUMNS = 50;
const CHANGES = { added: t("New"), changed: t("Changed"), deleted: t("Deleted") };

const VIEWS = { preview: t("Preview"), text: t("Text"), changes: t("Changes") };

/**
 * @typedef {object} Source a file that can be shown
 * @property {string} name
 * @property {string} text the address of what is known of it
 * @property {string} show the address for a frame
 * @property {string} download
 * @property {string} [before] the address of its text at the last checkpoint
 * @property {"added"|"changed"|"deleted"} [change]
 */

/** A file of a chat's workspace. @param {string} session @param {string} path @returns {Source} */
export function workspaceFile(session, path) {
  const at = (/** @type {string} */ what) =>
    `/api/sessions/${encodeURIComponent(session)}/workspace/${what}?path=${encodeURIComponent(path)}`;
  return { name: path, text: at("text"), show: at("show"), download: at("download"), before: at("before") };
}

/** A file of a message. @param {{id: string, name: string}} file @returns {Source} */
export function attachedFile({ id, name }) {
  const path = `/api/files/${id}`;
  return { name, text: `${path}/text`, show: `${path}/show`, download: path };
}

/** @param {{change?: string}} props */
export const ChangeBadge = ({ change }) =>
  change ? html`<span class=${`badge change-${change}`}>${CHANGES[/** @type {"added"} */ (change)]}</span>` : null;

/** The separator that is most frequent in a line, outside quotes. @param {string} line */
const separatorOf = (line, count = (/** @type {string} */ one) => line.replace(/"[^"]*"/g, "").split(one).length) =>
  [",", ";", "\t"].reduce((best, one) => (count(one) > count(best) ? one : best));

/**
 * The cells of a table in a text. Quoted cells may hold separators and line breaks.
 * @param {string} source @param {string} [separator]
 * @returns {string[][]}
 */
export function tableRows(source, separator) {
  const text = source.replace(/^\uFEFF+/, "").replace(/\r\n?/g, "\n");
  separator ??= separatorOf(text.split("\n", 1)[0]);
  const rows = [];
  let [row, cell, quoted] = [/** @type {string[]} */ ([]), "", false];
  for (let at = 0; at < text.length && rows.length <= MAX_ROWS; at += 1) {
    const one = text[at];
    if (quoted) {
      if (one !== '"') cell += one;
      else if (text[at + 1] === '"') cell += text[(at += 1)];
      else quoted = false;
    } else if (one === '"' && cell === "") quoted = true;
    else if (one === separator) {
      row.push(cell);
      cell = "";
    } else if (one === "\n") {
      rows.push([...row, cell]);
      [row, cell] = [[], ""];
    } else cell += one;
  }
  if (cell || row.length) rows.push([...row, cell]);
  return rows;
}

/** @param {{text: string, name: string}} props */
function Table({ text, name }) {
  const [head = [], ...rows] = tableRows(text, name.endsWith(".tsv") ? "\t" : undefined);
  const cells = (/** @type {string[]} */ row, /** @type {string} */ tag) =>
    row.slice(0, MAX_COLUMNS).map((cell) => html`<${tag} dir="auto"><${Visible} text=${cell} /></${tag}>`);
  return html`<div class="scroll" tabindex="0" role="group" aria-label=${t("Table")}>
      <table class="data">
        <thead><tr>${cells(head, "th")}</tr></thead>
        <tbody>${rows.slice(0, MAX_ROWS - 1).map((row) => html`<tr>${cells(row, "td")}</tr>`)}</tbody>
      </table>
    </div>
    ${rows.length >= MAX_ROWS && html`<p class="quiet small">${tn("The first row is shown.", "The first {n} rows are shown.", MAX_ROWS)}</p>`}`;
}

/** What a file holds. @param {{source: Source, about: any}} props */
function Content({ source, about }) {
  const name = source.name.split("/").at(-1) ?? "";
  if (about.as === "image") return html`<img class="picture" src=${source.show} alt=${name} />`;
  if (about.as === "pdf") {
    return html`<iframe class="sheet" src=${`${source.show}#navpanes=0`} title=${name}></iframe>
      <p class="small"><a href=${source.show} target="_blank">${t("Open in a tab")}</a></p>`;
  }
  if (about.as === "page") {
    return html`<iframe class="sheet" sandbox="" src=${source.show} title=${name}></iframe>
      <p class="quiet small">${t("Scripts do not run here, and nothing is loaded from elsewhere.")}</p>`;
  }
  if (about.as === "markdown" && about.text != null) return html`<div class="md">${markdown(about.text)}</div>`;
  if (about.as === "table" && about.text != null) return html`<${Table} text=${about.text} name=${name} />`;
  return html`<p class="quiet">${t("There is no preview of this file. Download it to open it.")}</p>`;
}

/** @param {string} name */
const language = (name) => (/\.([a-z0-9+]+)$/i.exec(name)?.[1] ?? name.split("/").at(-1) ?? "").toLowerCase();

/** @param {{source: Source, back: (() => void)|null, stamp: any}} props `stamp` changes when the file may have */
export function Preview({ source, back, stamp }) {
  const [about, setAbout] = useState(/** @type {any} */ (null));
  const [before, setBefore] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState("");
  const [chosen, choose] = useState("");
  const gone = source.change === "deleted";
  useEffect(() => {
    setProblem("");
    if (gone) setAbout({ as: "text", text: "", size: null });
    else call("GET", source.text).then(setAbout, (error) => setProblem(error.message));
  }, [source.text, stamp, gone]);
  const isText = about?.text != null;
  const views = [
    ...(about && about.as !== "text" && !gone ? ["preview"] : []),
    ...(isText && about.as !== "binary" && !gone ? ["text"] : []),
    ...(source.change && source.before && isText ? ["changes"] : []),
  ];
  const view = views.includes(chosen) ? chosen : views[0];
  useEffect(() => {
    if (view === "changes" && source.before) {
      call("GET", source.before).then(setBefore, (error) => setProblem(error.message));
    }
  }, [view, source.text, stamp]);
  const named = source.name.split("/");
  return html`<div class="preview">
    <div class="preview-head">
      ${back && html`<button type="button" class="plain" onClick=${back}><span aria-hidden="true">←</span> ${t("All files")}</button>`}
      ${views.length > 1 &&
      html`<span class="segments" role="group" aria-label=${t("View")}>
        ${views.map((one) => html`<button type="button" aria-pressed=${one === view} onClick=${() => choose(one)}>${VIEWS[/** @type {"text"} */ (one)]}</button>`)}
      </span>`}
      ${!gone && html`<a class="button" href=${source.download} download=${named.at(-1)}>${t("Download")}</a>`}
    </div>
    <h3 class="preview-name"><${Visible} text=${source.name} /> <${ChangeBadge} change=${source.change} />
      ${about?.size != null && html`<span class="quiet small">${size(about.size)}</span>`}</h3>
    ${problem && html`<p class="notice tone-bad" role="alert">${problem}</p>`}
    ${!about && !problem && html`<p class="quiet">${t("Loading …")}</p>`}
    ${about && view === "changes" && before && html`<${DiffView} diff=${{ before: before.text ?? "", after: about.text, name: source.name }} />`}
    ${about && view === "text" && html`<${CodeBlock} text=${about.text} language=${language(source.name)} />`}
    ${about && view !== "text" && view !== "changes" && html`<${Content} ...${{ source, about }} />`}
    ${about?.cut && view !== "changes" && html`<p class="quiet small">${t("Only the beginning is shown. Download the file for all of it.")}</p>`}
  </div>`;
}
