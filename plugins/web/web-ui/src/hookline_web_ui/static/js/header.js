/** The header of a chat: its title and menu. @module */
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { call } from "./api.js";
import { t } from "./i18n.js";
import { confirmed, owner } from "./shell.js";

/**
 * @param {{chat: import("./chat.js").Chat, known: boolean, waiting: number, titleOf: (session: any) => string,
 *   go: (path: string) => void, files: (place: {}, from: HTMLElement) => void, share: boolean}} props
 */
export function Header({ chat, known, waiting, titleOf, go, files, share }) {
  const [editing, setEditing] = useState(false);
  const [problem, setProblem] = useState("");
  const menu = useRef(/** @type {any} */ (null));
  const session = chat.session;
  const words = session?.first_words || chat.items.find((item) => item.role === "user")?.blocks?.[0]?.text;
  const title = titleOf({ ...session, first_words: words?.slice(0, 160) });
  const path = `/api/sessions/${encodeURIComponent(chat.id)}`;
  const mine = session?.mine !== false;
  useEffect(() => {
    const mark = chat.question ? `● ${t("waiting")} · ` : waiting ? `(${waiting}) ` : "";
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
  const put = (/** @type {(organise: any) => Promise<any>} */ work) =>
    attempt(async () => {
      chat.session = await work(await import("./organise.js"));
      chat.changed();
    });
  const remove = async () => {
    menu.current.hidePopover();
    const sure = await confirmed(t("Delete “{title}” with all its messages? This cannot be undone.", { title }), t("Delete"), "danger");
    if (sure) attempt(async () => (await call("DELETE", path), go("/")));
  };
  return html`<header class="bar">
    <button type="button" class="icon only-narrow" popovertarget="side" aria-label=${t("Menu")}>
      <svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d="M4 7h16M4 12h16M4 17h16" /></svg>
    </button>
    ${editing
      ? html`<input
          class="title" aria-label=${t("Title")} autofocus
          value=${title}
          ref=${(/** @type {any} */ box) => box?.select()}
          onBlur=${(/** @type {any} */ e) => rename(e.currentTarget.value)}
          onKeyDown=${(/** @type {any} */ e) => {
            if (e.isComposing || (e.key !== "Enter" && e.key !== "Escape")) return;
            e.preventDefault(); // or Enter would press the button that gets the focus
            if (e.key === "Escape") e.currentTarget.value = title;
            e.currentTarget.blur(); // onBlur renames
            /** @type {any} */ (document.querySelector("[popovertarget=chat-menu]"))?.focus();
          }}
        />`
      : html`<h1 class="title" dir="auto" title=${title}>${title}</h1>`}
    ${problem && html`<span class="bad small" role="alert">${problem}</span>`}
    ${!mine && html`<span class="badge">${owner(session)}</span>`}
    ${known && session &&
    html`<button type="button" class="plain icon" aria-label=${t("Files")} title=${t("Files")} data-files onClick=${(/** @type {any} */ e) => files({}, e.currentTarget)}>
        <svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d="M3.5 6.5a1.5 1.5 0 0 1 1.5-1.5h4.5l2 2.5H19a1.5 1.5 0 0 1 1.5 1.5v8.5a1.5 1.5 0 0 1-1.5 1.5H5a1.5 1.5 0 0 1-1.5-1.5Z" /></svg>
      </button>
      <button type="button" class="plain icon" popovertarget="chat-menu" aria-label=${t("Chat menu")}>
        <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
          <path d="M5 12h.01M12 12h.01M19 12h.01" stroke-width="3" />
        </svg>
      </button>
      <div class="menu" id="chat-menu" popover ref=${menu} onToggle=${(/** @type {ToggleEvent} */ e) => e.newState === "open" && menu.current.querySelector("button, a")?.focus()} onClick=${() => menu.current.hidePopover()}>
        ${mine && html`<button type="button" class="plain" onClick=${() => setEditing(true)}>${t("Rename")}</button>
          <button type="button" class="plain" onClick=${() => put((one) => one.put(session, { pinned: !session.pinned }))}>
            ${session.pinned ? t("Unpin") : t("Pin")}
          </button>
          <button type="button" class="plain" onClick=${() => put((one) => one.move(session))}>${t("Move to folder")}</button>
          <button type="button" class="plain" onClick=${() => put((one) => one.put(session, { archived: !session.archived }))}>
            ${session.archived ? t("Restore from the archive") : t("Archive")}
          </button>
          ${share && html`<button type="button" class="plain" onClick=${() => attempt(async () => (await import("./share.js")).showShare(chat.id))}>${t("Share")}</button>`}`}
        <a class="button" href=${`${path}/export?format=md`} download>${t("Export as Markdown")}</a>
        <a class="button" href=${`${path}/export?format=jsonl`} download>${t("Export as JSONL")}</a>
        <a class="button" href=${`/sessions/${encodeURIComponent(chat.id)}`}>${t("Session page")}</a>
        ${mine && html`<button type="button" class="plain danger" onClick=${remove}>${t("Delete")}</button>`}
      </div>`}
  </header>`;
}
