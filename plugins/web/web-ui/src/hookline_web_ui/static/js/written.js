/** The files that a turn has written, which are linked below its answer. @module */
import { html } from "../vendor/preact.js";
import { call } from "./api.js";
import { t, tn } from "./i18n.js";
import { Visible } from "./text.js";
import { byName } from "./util.js";

/** @typedef {import("./chat.js").Chat} Chat */

export const SHEET = html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d="M13.5 3.5H7A1.5 1.5 0 0 0 5.5 5v14A1.5 1.5 0 0 0 7 20.5h10a1.5 1.5 0 0 0 1.5-1.5V8.5ZM13.5 3.5v5h5" /></svg>`;

/** The tools that write the file that their argument `path` names. */
const WRITERS = new Set(["write_file", "edit_file"]);

const MAX_WRITTEN = 8;

/** The files that a turn has written, each once. @param {Chat} chat @param {string|null|undefined} turn */
export function writtenFiles(chat, turn) {
  const items = chat.items.filter((item) => item.turn === turn && item.kind === "message");
  const calls = items.flatMap((item) => item.blocks ?? []);
  const tools = calls.filter((block) => block.type === "tool_call").map((block) => chat.tools.get(block.id));
  const paths = tools.map((tool) => tool?.ok && WRITERS.has(tool.name) && /** @type {any} */ (tool.arguments)?.path);
  const named = paths.filter((path) => typeof path === "string" && path && !/^[/~]|\.\./.test(path)).map((path) => path.replace(/^\.\//, ""));
  // A program's files are known by when they were written.
  const times = items.map((item) => item.at);
  const [from, until] = [Math.min(...times), Math.max(...times) + 1];
  const made = Object.keys(chat.wrote).filter((path) => chat.wrote[path] >= from && chat.wrote[path] <= until);
  return [...new Set([...named, ...made.sort(byName)])];
}

/** @param {{paths: string[], show: import("./transcript.js").LogActions["files"]}} props */
export function Written({ paths, show }) {
  if (!paths.length) return null;
  return html`<ul class="files" aria-label=${t("Files written")}>
    ${paths.slice(0, MAX_WRITTEN).map(
      (path) => html`<li key=${path}>
        <button type="button" class="file" onClick=${(/** @type {any} */ e) => show({ path }, e.currentTarget)}>
          ${SHEET}<${Visible} text=${path} />
        </button>
      </li>`,
    )}
    ${paths.length > MAX_WRITTEN &&
    html`<li>
      <button type="button" class="file" onClick=${(/** @type {any} */ e) => show({}, e.currentTarget)}>
        ${tn("{n} more file", "{n} more files", paths.length - MAX_WRITTEN)}
      </button>
    </li>`}
  </ul>`;
}

/** Ask when the files of the chat were written, if a program may have written some. @param {Chat} chat @param {(rest: string) => string} address */
export async function loadWrote(chat, address) {
  const { id } = chat;
  const runs = (/** @type {any} */ tool) => tool.ok && typeof tool.arguments?.command === "string";
  if (![...chat.tools.values()].some(runs)) return;
  const { times } = await call("GET", address("/workspace/changes")).catch(() => ({ times: {} }));
  if (chat.id === id) chat.setWrote(times);
}
