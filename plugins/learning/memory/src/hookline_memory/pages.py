"""The web pages ``/memory``: notes and facts with their sources, the change log, and undo.

Imported when a web server asks for routes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hookline_hookspecs import Host, Origin, Page, Route, origins_from_json
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.chat_files import Chat
from hookline_hookspecs.stored_origins import strangers
from hookline_hookspecs.web import (
    N_,
    Action,
    Actions,
    Badge,
    Field,
    Form,
    Group,
    Identity,
    Link,
    Named,
    Paging,
    Part,
    Problem,
    Redirect,
    RequestLike,
    Row,
    SiteRoute,
    Stat,
    Stats,
    Table,
    Text,
    Timestamp,
    View,
    build_path,
    create_tables,
    format_number,
    identity,
    named,
    named_origins,
    plain_name,
    query_params,
    read_form,
    t,
)

from .change_log import ChangeSource
from .changes import MemoryChanges
from .errors import InvalidOperation
from .facts import CATEGORIES
from .memory_rows import MemoryRows
from .operations import MAX_TTL_DAYS, Operation
from .text import one_line

ROWS_PER_PAGE = 50
"""Facts or log entries on one page."""
MAX_LOG_ENTRIES = 10_000
"""Log entries that the page shows."""
EVERY_CHAT = N_("every chat")
"""Shown as the chat of global notes."""
KINDS = (N_("note"), N_("fact"))
CHANGES = {
    "note add": N_("Note added"),
    "note replace": N_("Note changed"),
    "note remove": N_("Note removed"),
    "fact remember": N_("Fact learned"),
    "fact update": N_("Fact confirmed"),
    "fact replace": N_("Fact changed"),
    "fact forget": N_("Fact forgotten"),
}
"""Kinds of changes in words; other plugins have their own as ``words``."""


@dataclass(frozen=True, slots=True)
class PageAuthor:
    """A person at the page; what they write passes ``pre_learn`` too."""

    host: Host
    origins: tuple[Origin, ...]
    operator: bool = False

    async def learn(self, text: str, source: str, kind: str) -> str:
        """Return the text as ``pre_learn`` returns it. Raises ``Refused``."""
        return await self.host.learn(text, source, kind, origins=self.origins)


class MemoryPages:
    """The pages of memory; a person sees the memory of their own chats."""

    def __init__(self, host: Host, rows: MemoryRows, changes: MemoryChanges) -> None:
        self._host = host
        self._rows = rows
        self._changes = changes

    def register(self, register: Callable[[Route], None]) -> None:
        """Register the pages and the targets of their forms."""
        create_tables(self._host, "entry", number=0)
        page = Page("Memory", "Settings", order=50)
        register(SiteRoute("GET", "/memory", self.show, auth="person", page=page))
        register(SiteRoute("GET", "/memory/log", self.log, auth="person"))
        log = N_("added a note or fact")
        register(SiteRoute("POST", "/memory/add", self.add, log=log))
        log = N_("removed a note or fact")
        register(SiteRoute("POST", "/memory/forget", self.forget, "person", log=log))
        log = N_("undid a change of memory")
        register(SiteRoute("POST", "/memory/undo", self.undo, "person", log=log))

    async def show(self, request: RequestLike) -> View:
        """``GET /memory[?q=WORDS]``"""
        return await self._view(request, [])

    async def _view(self, request: RequestLike, fields: Sequence[Field]) -> View:
        who, words = identity(request), " ".join(query_params(request).get("q", "").split())
        rows, problems = await self._rows.remembered()
        rows = [row for row in rows if _visible(who, row["chat"])]
        chats = sorted({row["chat"] for row in rows if row["chat"]})
        rows = [row for row in rows if _matches(row["text"], words)]
        notes, facts = _of_kind(rows, "note"), list(reversed(_of_kind(rows, "fact")))
        others = [row for row in rows if row["kind"] not in KINDS]
        parts: list[Part] = [
            *(Text(f"{problem}.", "warning") for problem in problems if who.is_operator),
            Stats(
                [
                    Stat(
                        t("Notes"), format_number(len(notes)), t("in the prompt of every session")
                    ),
                    Stat(t("Facts"), format_number(len(facts)), t("recalled when relevant")),
                    Stat(
                        t("Profiles"), format_number(len(others)), t("of the people in each chat")
                    ),
                ]
            ),
            Actions([Action(t("Change log"), "/memory/log", get=True)]),
            Form("/memory", [Field("q", t("Search"), value=words)], t("Search"), get=True),
            _notes(notes, words),
            self._facts(request, facts, words),
            _profiles(others),
        ]
        if who.is_operator:
            query = fields or _fields({}, [EVERY_CHAT, *chats, f"{TERMINAL}:default"])
            title = t("Add a note or fact")
            adding = Form("/memory/add", query, t("Add"))
            parts.append(Group(title, [adding], open=bool(fields)))
        intro = (
            t("What Hookline remembers, and where it is from.")
            if who.is_operator
            else t("What Hookline remembers about your chats.")
        )
        return View(t("Memory"), parts, intro, status=422 if fields else 200)

    def _facts(self, request: RequestLike, facts: Sequence[Mapping[str, Any]], words: str) -> Table:
        paging = Paging.from_request(request, "/memory", ROWS_PER_PAGE)
        nothing = t("No facts yet. Hookline learns them as you chat, or you can add one below.")
        return Table(
            [t("Fact"), t("Category"), t("Confidence"), t("Chat"), t("Source"), t("Learned")],
            [
                Row(
                    [
                        row["text"],
                        Badge(row["category"]),
                        f"{round(100 * row['confidence'])}%",
                        named(row["chat"]),
                        _from(row),
                        _when(row["at"]),
                    ],
                    [_forget_action("fact", row, f"#{row['id']}")],
                )
                for row in paging.slice(facts)
            ],
            title=t("Facts"),
            empty=t("No facts match “{words}”.", words=words) if words else nothing,
            more=paging.link(len(facts) - paging.offset),
        )

    async def add(self, request: RequestLike) -> Redirect | View:
        """``POST /memory/add``: ``kind text chat category days``"""
        form, who = await read_form(request), identity(request)
        kind = form.get("kind", "note")
        chat = self._chat(form.get("chat", ""))
        errors: dict[str, str] = {}
        if kind not in KINDS:
            errors["kind"] = t("Choose note or fact.")
        if chat is None and kind == "fact":
            errors["chat"] = t("Choose the chat that the fact belongs to.")
        ttl = _seconds(form.get("days", ""), errors)
        if not form.get("text", "").strip():
            errors["text"] = t("Enter what to remember.")
        result = ""
        if not errors:
            operation = Operation(
                "add" if kind == "note" else "remember",
                form["text"],
                category=form.get("category", "knowledge"),
                ttl=None if kind == "note" else ttl,
            )
            try:
                result = await self._apply(who, chat or Chat(TERMINAL, "default"), operation)
            except InvalidOperation as error:
                errors["text"] = _sentence(error)
        if errors:
            known = [form.get("chat", EVERY_CHAT)]
            rows, _ = await self._rows.remembered()
            chats = [EVERY_CHAT, *sorted({row["chat"] for row in rows if row["chat"]}), *known]
            return await self._view(request, _fields(form, chats, errors))
        return Redirect("/memory", result)

    async def forget(self, request: RequestLike) -> Redirect:
        """``POST /memory/forget``: ``kind chat what``; ``what`` is ``#ID`` or a note's text"""
        form, who = await read_form(request), identity(request)
        chat, kind = self._chat(form.get("chat", "")), form.get("kind", "")
        if not _visible(who, form.get("chat", "")) or kind not in KINDS:
            raise Problem(404, "not_found", t("Not found."))
        action = "remove" if kind == "note" else "forget"
        operation = Operation(action, old_text=form.get("what", ""))
        try:
            result = await self._apply(who, chat or Chat(TERMINAL, "default"), operation)
        except InvalidOperation as error:
            return Redirect("/memory", _sentence(error), "bad")
        return Redirect("/memory", f"{result} {t('You can undo this in the change log.')}")

    async def _apply(self, who: Identity, chat: Chat, operation: Operation) -> str:
        origins = () if who.is_operator else (Origin("person", who.person),)
        source = ChangeSource(chat, "", "", "page", origins)
        author = PageAuthor(self._host, origins)
        return (await self._changes.apply(author, source, [operation])).text

    async def log(self, request: RequestLike) -> View:
        """``GET /memory/log``"""
        who = identity(request)
        paging = Paging.from_request(request, "/memory/log", ROWS_PER_PAGE)
        rows = [row for row in await self._rows.log(MAX_LOG_ENTRIES) if _visible(who, row["chat"])]
        table = Table(
            [t("When"), t("Change"), t("Chat"), t("Source")],
            [
                Row(
                    [_when(row["at"]), _summary(row), _chat_cell(row), _from(row)],
                    [] if row["undone_by"] else [_undo_action(row)],
                    _details(row),
                )
                for row in paging.slice(rows)
            ],
            empty=t("No changes yet."),
            more=paging.link(len(rows) - paging.offset),
        )
        crumbs = (Link(t("Memory"), "/memory"),)
        intro = t("Everything that was learned, changed or forgotten, newest first.")
        return View(t("Memory change log"), [table], intro, crumbs)

    async def undo(self, request: RequestLike) -> Redirect:
        """``POST /memory/undo``: ``number``"""
        number, who = (await read_form(request)).get("number", ""), identity(request)
        if not who.is_operator:
            rows = await self._rows.log(MAX_LOG_ENTRIES)
            if not any(row["number"] == number and _visible(who, row["chat"]) for row in rows):
                raise Problem(404, "not_found", t("Entry not found."))
        try:
            await self._rows.undo(number)
        except InvalidOperation as error:
            return Redirect("/memory/log", _sentence(error), "bad")
        return Redirect("/memory/log", t("Undone. To redo it, undo the newest entry."))

    def _chat(self, label: str) -> Chat | None:
        return Chat.named(label, [channel.name for channel in self._host.channels()])


def _visible(who: Identity, chat: str) -> bool:
    """True if a person may see the memory of a chat ``CHANNEL:ID``; only the operator sees the
    global notes."""
    channel, _, chat_id = chat.partition(":")
    return who.may_see(channel, chat_id)


def _of_kind(rows: Sequence[Mapping[str, Any]], kind: str) -> list[Mapping[str, Any]]:
    return [row for row in rows if row["kind"] == kind]


def _matches(text: str, words: str) -> bool:
    return all(word in text.casefold() for word in words.casefold().split())


def _notes(notes: Sequence[Mapping[str, Any]], words: str) -> Table:
    nothing = t("No notes yet. Hookline learns them as you chat, or you can add one below.")
    return Table(
        [t("Note"), t("Chat"), t("Source"), t("Learned")],
        [
            Row(
                [row["text"], _chat_cell(row), _from(row), _when(row["at"])],
                [_forget_action("note", row, row["text"])],
            )
            for row in notes
        ],
        title=t("Notes"),
        empty=t("No notes match “{words}”.", words=words) if words else nothing,
    )


def _profiles(rows: Sequence[Mapping[str, Any]]) -> Table:
    return Table(
        [t("Chat"), t("Profile"), t("Updated")],
        [
            Row(
                [
                    Link(plain_name(row["chat"]), build_path(row["kind"], chat=row["chat"])),
                    row["text"],
                ]
            )
            if row["at"] is None
            else Row(
                [
                    Link(plain_name(row["chat"]), build_path(row["kind"], chat=row["chat"])),
                    one_line(row["text"], 300),
                    Timestamp(row["at"]),
                ]
            )
            for row in rows
        ],
        title=t("Profiles"),
        empty=t("No profiles yet. Hookline writes one after a few messages in a chat."),
    )


def _from(row: Mapping[str, Any]) -> str | Link:
    """Who or what a row came from; a link to the session if it is known."""
    origins = strangers(origins_from_json(row.get("origins")))
    others = t("from {names}", names=named_origins(origins)) if origins else ""
    if not row["session"]:
        return others or (t("web page") if row["at"] else t("added by hand"))
    turn = t("turn {turn}", turn=row["turn"]) if row["turn"] else t("session")
    text = f"{turn} · {others}" if others else turn
    return Link(text, build_path("sessions", row["session"]))


def _when(at: float | None) -> Timestamp | None:
    return None if at is None else Timestamp(at)


def _forget_action(kind: str, row: Mapping[str, Any], what: str) -> Action:
    fields = {"kind": kind, "chat": row["chat"], "what": what}
    question = t("Forget “{text}”?", text=one_line(row["text"], 80))
    return Action(t("Forget"), "/memory/forget", fields, question, "danger")


def _undo_action(row: Mapping[str, Any]) -> Action:
    return Action(t("Undo"), "/memory/undo", {"number": str(row["number"])})


def _summary(row: Mapping[str, Any]) -> str:
    """The changes of a log entry in one line."""
    changes = [
        f"{change_words(change)}: " + one_line(str(change["after"] or change["before"] or ""), 120)
        for change in row["changes"]
    ]
    return "; ".join(changes) + (f" ({t('undone')})" if row["undone_by"] else "")


def change_words(change: Mapping[str, Any]) -> str:
    """What a change of the log did: ``Note added``."""
    key = f"{change['kind']} {change['op']}"
    return change.get("words") or t(CHANGES.get(key, key))


def _chat_cell(row: Mapping[str, Any]) -> Named | str:
    return named(row["chat"]) if row["chat"] else t(EVERY_CHAT)


def _details(row: Mapping[str, Any]) -> str:
    """The texts of a log entry before and after, if there are both or they are long."""
    lines = []
    for change in row["changes"]:
        before, after = change["before"], change["after"]
        if (before and after) or len(str(before or after or "")) > 120:
            lines += [f"- {before}"] if before else []
            lines += [f"+ {after}"] if after else []
    return "\n".join(lines)


def _seconds(days: str, errors: dict[str, str]) -> float | None:
    if not days.strip():
        return None
    try:
        number = float(days)
    except ValueError:
        number = 0.0
    if not 0 < number <= MAX_TTL_DAYS:
        errors["days"] = t(
            "Enter a number of days up to {days}, or leave it empty.", days=MAX_TTL_DAYS
        )
        return None
    return number * 86_400


def _fields(
    given: Mapping[str, str], chats: Sequence[str], errors: Mapping[str, str] | None = None
) -> list[Field]:
    wrong = errors or {}
    help_ = t("A note is in the prompt of every session. A fact is recalled when relevant.")
    days_help = t("Days until a fact is forgotten. Leave empty for never.")
    names = list(dict.fromkeys(chats))
    chosen = given.get("chat", EVERY_CHAT)
    category = given.get("category", "knowledge")
    return [
        Field(
            "text",
            t("Text"),
            "long",
            given.get("text", ""),
            required=True,
            error=_at(wrong, "text"),
        ),
        Field(
            "kind",
            t("Type"),
            "choice",
            given.get("kind", "note"),
            KINDS,
            help_,
            error=_at(wrong, "kind"),
        ),
        Field(
            *("chat", t("Chat"), "choice", chosen, names),
            error=_at(wrong, "chat"),
            labels={**{name: plain_name(name) for name in names}, EVERY_CHAT: t(EVERY_CHAT)},
        ),
        Field("category", t("Category"), "choice", category, CATEGORIES),
        Field(
            "days",
            t("Forget after (days)"),
            "number",
            given.get("days", ""),
            (),
            days_help,
            error=_at(wrong, "days"),
        ),
    ]


def _at(errors: Mapping[str, str], name: str) -> str:
    return errors.get(name, "")


def _sentence(error: InvalidOperation) -> str:
    text = str(error)
    shown = "".join(f"\n{one_line(entry)}" for entry in error.entries)
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?")) else ".") + shown
