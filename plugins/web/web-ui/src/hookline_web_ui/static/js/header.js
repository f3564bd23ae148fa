/** The header of a chat: its title and menu. @module */
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { call } from "./api.js";
import { confirmed, owner } from "./shell.js";

/**
 * @param {{chat: import("./chat.js").Chat, known: boolean, waiting: number, titleOf: (session: any) => string,
 *   go: (path: string) => void}} props
 */
export function Header({ chat, known, waiting, titleOf, go }) {
  const [editing, setEditing] = useState(false);
  const [problem, setProblem] = useState("");
  const menu = useRef(/** @type {any} */ (null));
  const session = chat.session;
  const words = session?.first_words || chat.items.find((item) => item.role === "user")?.blocks?.[0]?.text;
  const title = titleOf({ ...session, first_words: words?.slice(0, 160) });
  const path = `/api/sessions/${encodeURIComponent(chat.id)}`;
  const mine = session?.mine !== false;
  useEffect(() => {
    const mark = chat.question ? "● waiting · " : waiting ? `(${waiting}) ` : "";
    document.title = `${mark}${title} · Hookline`;
  }, [title, chat.question, waiting]);
  const attempt = async (/** @type {() => Promise<any>} */ work) => {
    setProblem("");
    await work().catch((error) => setProblem(error.message));
  };
  const rename = (/** @type {string} */ text) => {
    setEditing(false);
    if (!text.trim() || text === title) return;
    attempt(async () => {
      const changed = await call("PATCH", path, { title: text.trim() });
      chat.session = changed.session;
      chat.changed();
    });
  };
  const remove = async () => {
    menu.current.hidePopover();
    const sure = await confirmed(`Delete “${title}” with all its messages?`, "Delete");
    if (sure) attempt(async () => (await call("DELETE", path), go("/")));
  };
  return html`<header class="bar">
    <button type="button" class="icon only-narrow" popovertarget="side" aria-label="Menu">
      <svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d="M4 7h16M4 12h16M4 17h16" /></svg>
    </button>
    ${editing
      ? html`<input
          class="title" aria-label="Title" autofocus
          value=${title}
          ref=${(/** @type {any} */ box) => box?.select()}
          onBlur=${(/** @type {any} */ e) => rename(e.currentTarget.value)}
          onKeyDown=${(/** @type {any} */ e) => {
            if (e.isComposing || (e.key !== "Enter" && e.key !== "Escape")) return;
            if (e.key === "Escape") e.currentTarget.value = title;
            e.currentTarget.blur(); // onBlur renames
            /** @type {any} */ (document.querySelector("[popovertarget=chat-menu]"))?.focus();
          }}
        />`
      : html`<h1 class="title" dir="auto" title=${title}>${title}</h1>`}
    ${problem && html`<span class="bad small" role="alert">${problem}</span>`}
    ${!mine && html`<span class="badge">${owner(session)}</span>`}
    ${session?.model && html`<span class="quiet small model">${session.model}</span>`}
    ${known && session &&
    html`<button type="button" class="plain icon" popovertarget="chat-menu" aria-label="Chat menu">
        <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
          <path d="M5 12h.01M12 12h.01M19 12h.01" stroke-width="3" />
        </svg>
      </button>
      <div class="menu" id="chat-menu" popover ref=${menu} onClick=${() => menu.current.hidePopover()}>
        ${mine && html`<button type="button" class="plain" onClick=${() => setEditing(true)}>Rename</button>`}
        <a class="button" href=${`${path}/export?format=md`} download>Export as Markdown</a>
        <a class="button" href=${`${path}/export?format=jsonl`} download>Export as JSONL</a>
        <a class="button" href=${`/sessions/${encodeURIComponent(chat.id)}`}>Session page</a>
        ${mine && html`<button type="button" class="plain danger" onClick=${remove}>Delete</button>`}
      </div>`}
  </header>`;
}
