/**
 * The entries of a chat's log, and the tools that its turns use. @module
 *
 * @typedef {object} Tool
 * @property {string} id
 * @property {string} name
 * @property {unknown} arguments
 * @property {boolean|null} ok null while the tool runs
 * @property {string} text
 * @property {number|null} seconds
 * @property {string|{before: string, after: string, name: string}|null} diff
 *
 * @typedef {object} Item an entry of the log; it is drawn again when `rev` changes
 * @property {"message"|"aside"|"notice"} kind
 * @property {string} key
 * @property {number} rev
 * @property {number} at
 * @property {"user"|"assistant"} [role]
 * @property {number|null} [seq]
 * @property {string|null} [turn]
 * @property {number} [part] the number of the response in its turn
 * @property {number} [n] the number of the next delta
 * @property {boolean} [live]
 * @property {Array<any>} [blocks]
 * @property {Array<any>} [files]
 * @property {string} [id] the `message_id`
 * @property {"stored"|"sending"|"failed"|"queued"} [state]
 * @property {string} [error] why it was not sent, or why the turn failed
 * @property {number} [retry_at] Unix time at which it is sent again
 * @property {boolean} [steer]
 * @property {string} [stop] how the turn ended; on its last answer
 * @property {string} [text]
 * @property {string} [mode]
 * @property {string} [command]
 * @property {string} [tone]
 */

/** @param {"message"|"aside"|"notice"} kind @param {string} key @param {number} at @returns {Item} */
export const base = (kind, key, at) => ({ kind, key, at, rev: 0 });

/** @param {string} id @returns {Tool} */
export const fresh = (id) => ({ id, name: "", arguments: null, ok: null, text: "", seconds: null, diff: null });

/** @param {Item} item @param {string} text */
export function setText(item, text) {
  item.blocks = [{ type: "text", text }, ...(item.blocks ?? []).slice(1)];
  item.rev += 1;
}
