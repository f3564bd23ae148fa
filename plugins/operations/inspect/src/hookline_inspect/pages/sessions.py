"""``/sessions``: the conversations, their messages and their cost."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hookline_hookspecs import Host, Inspection
from hookline_hookspecs.audit import session_deleted
from hookline_hookspecs.prices import Prices
from hookline_hookspecs.web import (
    Action,
    Actions,
    Download,
    Field,
    Form,
    Group,
    Identity,
    Link,
    Paging,
    Part,
    Problem,
    Redirect,
    RequestLike,
    Row,
    Stat,
    Stats,
    Table,
    Text,
    Timestamp,
    Transcript,
    View,
    build_path,
    format_number,
    identity,
    named,
    path_param,
    plain_name,
    query_params,
    read_form,
    t,
)

from ..sessions import body, session_name, stored_messages
from ..traces import forget_session
from ..usage import money, tokens_and_cost
from .transcript import entries, markdown

SESSIONS_PER_PAGE, MESSAGES_PER_PAGE = 50, 100
"""Sessions and messages of one page."""
SEARCH_FACTOR = 20
"""How many times more messages are read than shown: the database matches one word only."""
MAX_SNIPPET_CHARS = 200
"""Characters of a matching message."""
MAX_TITLE_CHARS = 200
"""The limit of ``Host.set_title``."""
KINDS = ("chat", "schedule", "agent", "review", "all")
"""The kinds of sessions: conversations, scheduled runs, sub-agents, reviews."""


class SessionPages:
    """The pages of sessions; people who are not the operator see those of their own chat."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def list(self, request: RequestLike) -> View:
        """``GET /sessions[?q=WORDS][&kind=KIND]``"""
        who, query = identity(request), query_params(request)
        words = " ".join(query.get("q", "").split())
        kind = query.get("kind", "chat")
        kind = kind if kind in KINDS else "chat"
        fields = [
            Field("q", t("Search titles and messages"), value=words),
            Field("kind", t("Show"), "choice", kind, KINDS, labels=_kinds()),
        ]
        parts: list[Part] = [Form("/sessions", fields, t("Search"), get=True)]
        paging = Paging.from_request(request, "/sessions", SESSIONS_PER_PAGE)
        rows = await self._host.storage.fetch(
            "page_sessions",
            **_visible_chats(who),
            kind="" if kind == "all" else kind,
            pattern=_pattern(words),
            limit=paging.size + 1,
            start=paging.offset,
        )
        if words:
            parts.append(await self._matching_messages(who, words))
        found = [row for row in rows[: paging.size] if _contains_all(row["title"], words)]
        parts.append(
            Table(
                [t("Session"), t("Where"), t("Turns"), t("Tokens"), t("Cost"), t("Last used")],
                [await self._row(row) for row in found],
                title=t("Matching titles") if words else "",
                empty=_empty_text(words, kind),
                more=paging.link(len(rows)),
            )
        )
        subtitle = (
            t("All conversations on all channels.") if who.is_operator else t("Your conversations.")
        )
        return View(t("Sessions"), parts, subtitle)

    async def _row(self, row: Mapping[str, Any]) -> Row:
        spent = await money(self._host, row["id"])
        cost = Prices.of(self._host).format(spent) if row["tokens"] else ""
        where = named(f"{row['channel']}:{row['chat']}")
        actions = (
            [Action(t("Open"), build_path("chat", row["id"]), get=True)] if _is_chat(row) else []
        )
        actions.append(_delete_action(row))
        cells = [
            _link(row),
            where,
            row["turns"],
            row["tokens"] or 0,
            cost,
            Timestamp(row["updated"]),
        ]
        return Row(cells, actions)

    async def _matching_messages(self, who: Identity, words: str) -> Table:
        """The messages that contain every word, newest first."""
        rows = await self._host.storage.fetch(
            "page_search",
            **_visible_chats(who),
            pattern=_pattern(words),
            limit=SESSIONS_PER_PAGE * SEARCH_FACTOR,
        )
        found = [row for row in rows if _contains_all(row["text"], words)][:SESSIONS_PER_PAGE]
        return Table(
            [t("Message"), t("From"), t("Session"), t("When")],
            [
                Row(
                    [
                        _snippet(row["text"], words),
                        row["role"],
                        Link(
                            session_name(row) or "Session",
                            build_path("sessions", row["session_id"], **_page_params(row["seq"])),
                        ),
                        Timestamp(row["created"]),
                    ]
                )
                for row in found
            ],
            title=t("Matching messages"),
            empty=t("No messages match “{words}”.", words=words),
        )

    async def show(self, request: RequestLike) -> View:
        """``GET /sessions/ID``"""
        who = identity(request)
        row = await self._session(who, path_param(request, "id"))
        paging = Paging.from_request(request, build_path("sessions", row["id"]), MESSAGES_PER_PAGE)
        messages = await self._host.storage.fetch(
            "page_messages", id=row["id"], limit=paging.size + 1, start=paging.offset
        )
        parts: list[Part] = [
            Stats(await self._stats(row)),
            Actions(list(_actions(row, who))),
            *await self._related(row),
        ]
        bodies = [
            {"seq": message["seq"], **body(message), **_times(message)}
            for message in messages[: paging.size]
        ]
        shown = list(entries(bodies))
        parts.append(Transcript(shown) if shown else Text(t("No messages yet.")))
        if more := paging.link(len(messages), t("Later messages")):
            parts.append(Actions([Action(more.text, more.href, get=True)]))
        field = Field(
            "title", t("Title"), value=row["title"] or "", help=t("Leave empty for no title.")
        )
        id_ = Field("id", kind="hidden", value=row["id"])
        rename = Form("/inspect/rename", [id_, field], t("Rename"))
        parts.append(Group(t("Rename"), [rename], open=False))
        return View(
            session_name(row) or t("Session"),
            parts,
            _subtitle(row),
            (Link(t("Sessions"), "/sessions"),),
        )

    async def _stats(self, row: Mapping[str, Any]) -> Sequence[Stat]:
        used, spent = await tokens_and_cost(self._host, row["id"])
        cached = t("{cache_read} from cache", cache_read=used.cache_read) if used.input else ""
        return [
            Stat(t("Turns"), format_number(row["turns"])),
            Stat(t("Tokens in"), format_number(used.input), cached),
            Stat(t("Tokens out"), format_number(used.output)),
            Stat(t("Cost"), Prices.of(self._host).format(spent), row["model"]),
        ]

    async def _related(self, row: Mapping[str, Any]) -> Sequence[Part]:
        """The session that this one was copied from, and those that came from it."""
        related = []
        if row["parent_id"]:
            found = await self._host.storage.fetch("page_session", id=row["parent_id"])
            related += [(t("copied from"), parent) for parent in found]
        children = await self._host.storage.fetch(
            "page_children", id=row["id"], limit=SESSIONS_PER_PAGE
        )
        related += [(t("led to"), child) for child in children]
        rows = [
            Row([how, _link(one), one["kind"], Timestamp(one["updated"])]) for how, one in related
        ]
        return (
            [Table(["", t("Session"), t("Kind"), t("Last used")], rows, t("Related"))]
            if rows
            else []
        )

    async def export(self, request: RequestLike) -> Download:
        """``GET /inspect/export?id=ID&as=jsonl|md``"""
        query = query_params(request)
        row = await self._session(identity(request), query.get("id", ""))
        messages = await stored_messages(self._host, row["id"])
        if query.get("as") == "md":
            text, kind = markdown(row, messages), "text/markdown; charset=utf-8"
        elif query.get("as", "jsonl") == "jsonl":
            lines = [json.dumps(message, ensure_ascii=False, default=str) for message in messages]
            text, kind = "".join(f"{line}\n" for line in lines), "application/x-ndjson"
        else:
            raise Problem(400, "bad_format", t("The format must be jsonl or md."))
        ending = "md" if query.get("as") == "md" else "jsonl"
        data = text.encode("utf-8", "backslashreplace")
        return Download(f"{row['id']}.{ending}", data, kind)

    async def rename(self, request: RequestLike) -> Redirect:
        """``POST /inspect/rename``: ``id title``"""
        form = await read_form(request)
        row = await self._session(identity(request), form.get("id", ""))
        title = " ".join(form.get("title", "").split())[:MAX_TITLE_CHARS]
        await self._host.set_title(row["id"], title)
        message = t("Renamed to “{title}”.", title=title) if title else t("Title removed.")
        return Redirect(build_path("sessions", row["id"]), message)

    async def delete(self, request: RequestLike) -> Redirect:
        """``POST /inspect/delete``: ``id``"""
        form = await read_form(request)
        row = await self._session(identity(request), form.get("id", ""))
        try:
            async with asyncio.timeout(10):
                await self._host.services[Inspection].delete_session(row["id"])
        except TimeoutError:
            message = t("A turn is running in this session.")
            raise Problem(
                409, "busy", message, t("Stop it first, then delete the session.")
            ) from None
        await forget_session(self._host, row["id"])
        by = identity(request).person
        await session_deleted(self._host, row["id"], row["channel"], row["chat"], by)
        return Redirect(
            "/sessions", t("“{name}” was deleted.", name=session_name(row) or row["id"])
        )

    async def _session(self, who: Identity, id_: str) -> Mapping[str, Any]:
        """The session if it exists and this person may see it; else the same error for both."""
        rows = await self._host.storage.fetch("page_session", id=id_)
        if rows and who.may_see(rows[0]["channel"], rows[0]["chat"]):
            return rows[0]
        raise Problem(404, "not_found", t("Session not found."), t("Find it under Sessions."))


def _link(row: Mapping[str, Any]) -> Link:
    return Link(session_name(row) or "No messages yet", build_path("sessions", row["id"]))


def _visible_chats(who: Identity) -> dict[str, Any]:
    """The chats that a person may see, as query parameters; the rule is ``Identity.owns``."""
    return {"channel": who.channel, "owner": None if who.is_operator else who.name}


def _pattern(words: str) -> str:
    """A LIKE pattern for the longest word; the other words are matched in Python."""
    longest = max(words.split(), key=len, default="")
    escaped = longest.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
    return f"%{escaped}%" if escaped else ""


def _contains_all(text: str | None, words: str) -> bool:
    folded = (text or "").casefold()
    return all(word in folded for word in words.casefold().split())


def _snippet(text: str, words: str) -> str:
    """The part of a message around the first matching word."""
    flat = " ".join(text.split())
    first = words.split()[0].casefold()
    start = max(0, flat.casefold().find(first) - MAX_SNIPPET_CHARS // 3)
    cut = flat[start : start + MAX_SNIPPET_CHARS]
    return f"{'…' * bool(start)}{cut}{'…' * (start + MAX_SNIPPET_CHARS < len(flat))}"


def _page_params(seq: int) -> dict[str, str]:
    """The query parameter for the page that contains a message."""
    start = max(0, seq) // MESSAGES_PER_PAGE * MESSAGES_PER_PAGE
    return {"from": str(start)} if start else {}


def _times(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"turn": row["turn"], "created": row["created"]}


def _kinds() -> Mapping[str, str]:
    return {
        "chat": t("Chats"),
        "schedule": t("Scheduled jobs"),
        "agent": t("Sub-agents"),
        "review": t("Reviews"),
        "all": t("All"),
    }


def _empty_text(words: str, kind: str) -> str:
    if words:
        return t("No titles match “{words}”.", words=words)
    if kind in ("chat", "all"):
        return t("No sessions yet. Start one in Chat or on any channel.")
    return {
        "schedule": t("None yet. Scheduled jobs create these."),
        "agent": t("None yet. Sub-agents create these."),
        "review": t("None yet. Session reviews create these."),
    }[kind]


def _is_chat(row: Mapping[str, Any]) -> bool:
    return bool(row["kind"] == "chat")


def _delete_action(row: Mapping[str, Any]) -> Action:
    name = session_name(row) or row["id"]
    question = t("Delete “{name}” and all its messages? This cannot be undone.", name=name)
    return Action(t("Delete"), "/inspect/delete", {"id": row["id"]}, question, "danger")


def _actions(row: Mapping[str, Any], who: Identity) -> Iterator[Action]:
    id_ = row["id"]
    if _is_chat(row):
        yield Action(t("Open in Chat"), build_path("chat", id_), style="primary", get=True)
    for ending, name in (("md", "Markdown"), ("jsonl", "JSONL")):
        path = build_path("inspect", "export", **{"id": id_, "as": ending})
        yield Action(t("Export as {name}", name=name), path, get=True)
    if who.is_operator:
        yield Action(t("Prompt"), build_path("prompt", session=id_), get=True)
        yield Action(t("Trace"), build_path("trace", session=id_), get=True)
    yield _delete_action(row)


def _subtitle(row: Mapping[str, Any]) -> str:
    kind = "" if _is_chat(row) else f", {row['kind']}"
    return f"{plain_name(row['channel'] + ':' + row['chat'])}{kind} · {row['id']}"
