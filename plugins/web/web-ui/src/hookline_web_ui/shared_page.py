"""The page of a shared chat, which needs no login, and the routes for the links to it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Host, Route
from hookline_hookspecs.optional_services import TextRedaction
from hookline_hookspecs.secrets import redacted
from hookline_hookspecs.visible_text import on_one_line, spell_out_prose
from hookline_hookspecs.web import (
    N_,
    Redirect,
    RequestLike,
    SiteRoute,
    identity,
    path_param,
    read_form,
    t,
)

from .json_body import read_body
from .session_names import person_text
from .settings_page import LINKS_PATH
from .settings_page import PATH as SETTINGS_PATH

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from .front import Front
    from .page import Pages

MAX_VIEWS_PER_MINUTE = 30
"""Requests for shared chats from one address: several people of an office may open a link."""
MAX_LINKS_PER_MINUTE = 20
MAX_NAME_CHARS = 100
"""Characters of the name of a tool or a file."""
WRITTEN = ("operator", "admin", "person")
"""Origins of texts that a person wrote; others were sent by plugins."""
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Robots-Tag": "noindex, nofollow, noarchive",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
Row = Mapping[str, Any]


@dataclass
class SharedMessage:
    """A message: who wrote it, when, its parts (``text``, ``tool`` or ``note``), and its files."""

    by: str
    at: float
    parts: list[tuple[str, str]] = field(default_factory=list)
    files: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class SharedChat:
    """A chat as a link shows it; ``created`` and ``expires`` are those of the link."""

    title: str
    created: float
    expires: float
    messages: Sequence[SharedMessage]


class SharedPages:
    """The handlers.

    Args:
        host: the plugin's host.
        front: renders the page.
        pages: returns the parts of the page.
    """

    def __init__(self, host: Host, front: Front, pages: Callable[[], Pages]) -> None:
        self._host, self._front, self._pages = host, front, pages

    def register(self, register: Callable[[Route], None]) -> None:
        """Register every route."""
        views, links = MAX_VIEWS_PER_MINUTE, MAX_LINKS_PER_MINUTE
        create, revoke = N_("created a public link to a chat"), N_("revoked a public link")
        chat = "/api/sessions/{id}/links"
        register(SiteRoute("GET", "/shared/{secret}", self.show, "none", rate=views))
        register(SiteRoute("GET", chat, self.of_chat, "person"))
        register(
            SiteRoute("POST", chat, self.create, "person", max_bytes=1024, rate=links, log=create)
        )
        register(SiteRoute("GET", "/api/links", self.of_person, "person"))
        register(SiteRoute("DELETE", "/api/links/{id}", self.revoke, "person", log=revoke))
        register(SiteRoute("POST", LINKS_PATH, self.revoke_by_form, "person", log=revoke))

    async def show(self, request: RequestLike) -> Response:
        """``GET /shared/{secret}``: the same page for every link that does not work, unless it has
        expired."""
        link = await self._pages().shared_links.find(path_param(request, "secret"))
        if link is not None and link["expires"] <= self._host.now():
            made = await self._front.html.shared(request, None, link["expires"])
        else:
            chat = await self._chat(link) if link is not None else None
            made = await self._front.html.shared(request, chat)
        made.headers.update(HEADERS)
        return made

    async def of_chat(self, request: Request) -> dict[str, Any]:
        """``GET /api/sessions/{id}/links``."""
        who, id_ = identity(request), path_param(request, "id")
        return {"links": await self._pages().shared_links.of_chat(who, id_)}

    async def create(self, request: Request) -> Response:
        """``POST /api/sessions/{id}/links``."""
        from starlette.responses import JSONResponse

        days = (await read_body(request)).get("days")
        who, id_ = identity(request), path_param(request, "id")
        link = await self._pages().shared_links.create(who, id_, days)
        return JSONResponse(link, 201, {"Cache-Control": "no-store"})

    async def of_person(self, request: Request) -> dict[str, Any]:
        """``GET /api/links``."""
        return {"links": await self._pages().shared_links.of_person(identity(request))}

    async def revoke(self, request: Request) -> dict[str, Any]:
        """``DELETE /api/links/{id}``."""
        await self._pages().shared_links.revoke(identity(request), path_param(request, "id"))
        return {}

    async def revoke_by_form(self, request: RequestLike) -> Redirect:
        """``POST /settings/links``: ``id``"""
        form = await read_form(request)
        await self._pages().shared_links.revoke(identity(request), form.get("id", ""))
        return Redirect(SETTINGS_PATH, t("The link does not work any more."))

    async def _chat(self, link: Row) -> SharedChat:
        storage, id_ = self._host.storage, link["session_id"]
        values = {"last_seq": link["last_seq"], "last_created": link["last_created"]}
        rows = await storage.fetch("shared_messages", id=id_, **values)
        known = await storage.fetch("files_of", session_id=id_)
        files = [one for one in known if one["created"] <= link["created"]]
        service: TextRedaction | None = self._host.services.get(TextRedaction)
        rules = service.redact if service is not None else str

        def redact(text: str) -> str:
            return rules(redacted(text))

        def read() -> SharedChat:
            title, times = redact(link["title"]), (link["created"], link["expires"])
            return SharedChat(title, *times, read_messages(rows, files, redact))

        # In a thread: the redaction of a long chat takes a while, and its first use is slow.
        return await asyncio.to_thread(read)


def read_messages(
    rows: Sequence[Row], files: Sequence[Row], redact: Callable[[str], str]
) -> list[SharedMessage]:
    """Return what a shared page shows of stored messages, with ``redact`` applied to each text.

    These are the texts of the person and the agent, the names of tools, and the names of files;
    no thoughts, no arguments, no results, and no text that a plugin sent as a message.
    """
    messages: list[SharedMessage] = []
    first: dict[str, SharedMessage] = {}
    last: dict[str, SharedMessage] = {}
    for row in rows:
        by = "agent" if row["role"] == "assistant" else "person"
        message = SharedMessage(by, row["created"])
        message.parts = [part for one in _blocks(row) if (part := _part(one, by, redact))]
        if by == "agent":
            last[row["turn_id"]] = message
        else:
            first.setdefault(row["turn_id"], message)
        messages.append(message)
    for file in files:
        shown = (first if file["side"] == "in" else last).get(file["turn_id"])
        if shown is not None:
            shown.files.append(on_one_line(redact(file["name"]), MAX_NAME_CHARS))
    return [one for one in messages if one.parts or one.files]


def _blocks(row: Row) -> list[Any]:
    try:
        blocks = json.loads(row["body"])["blocks"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return []
    return blocks if isinstance(blocks, list) else []


def _part(block: Any, by: str, redact: Callable[[str], str]) -> tuple[str, str] | None:
    if not isinstance(block, Mapping):
        return None
    if block.get("type") == "tool_call":
        return "tool", on_one_line(redact(str(block.get("name", ""))), MAX_NAME_CHARS)
    if block.get("type") != "text":
        return None
    text = str(block.get("text", ""))
    if by == "agent":
        return ("text", redact(text)) if text.strip() else None
    if not _is_written(block.get("origins")):
        return "note", ""
    text = spell_out_prose(redact(person_text(text)))
    return ("text", text) if text.strip() else None


def _is_written(origins: Any) -> bool:
    """Whether a person wrote a text; False if its origins are unknown."""
    try:
        return any(kind in WRITTEN for kind, _ in origins or ())
    except (TypeError, ValueError):
        return False
