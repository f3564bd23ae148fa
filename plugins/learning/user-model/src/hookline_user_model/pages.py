"""``/user-model``: the profiles of the people in each chat, with their versions.

Imported when a web server asks for routes. The page Memory links here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from hookline_hookspecs import Host, Origin, Refused, Route
from hookline_hookspecs.chat_files import Chat
from hookline_hookspecs.web import (
    Action,
    Actions,
    Cell,
    Diff,
    Field,
    Form,
    Group,
    Identity,
    Link,
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
    identity,
    query_params,
    read_form,
)

from .config import UserModelConfig
from .curating import KIND
from .portrait import PIN
from .upkeep import Upkeep
from .userfile import Complaint, all_files
from .versions import Portraits, Source, Version

PATH = "/user-model"
MEMORY = Link("Memory", "/memory")
SHOWN = 200
"""Characters of a version in a line."""
HOWS = {
    "curated": "written from the conversation",
    "hand": "written by hand",
    "pin": "line pinned",
    "unpin": "line unpinned",
    "clear": "cleared",
    "restore": "restored",
    "undo": "undone",
}


class PortraitPages:
    """The pages of the profiles. A person sees those of their own chats."""

    def __init__(self, host: Host, portraits: Portraits, config: UserModelConfig) -> None:
        self._host = host
        self._portraits = portraits
        self._limit = config.max_chars
        self._upkeep = Upkeep(portraits, config.max_chars)

    def register(self, register: Callable[[Route], None]) -> None:
        """Register the page, and what its forms are sent to."""
        create_tables(self._host, "version_by_id", id=0)
        register(SiteRoute("GET", PATH, self.show, auth="person"))
        for name, handler in (
            ("pin", self.pin),
            ("unpin", self.unpin),
            ("clear", self.clear),
            ("restore", self.restore),
        ):
            register(SiteRoute("POST", f"{PATH}/{name}", handler, auth="person"))

    async def show(self, request: RequestLike) -> View:
        """``GET /user-model[?chat=CHANNEL:ID]``"""
        who, given = identity(request), query_params(request)
        if "chat" not in given:
            return await self._all(who)
        return await self._one(self._chat(who, given["chat"]))

    async def _all(self, who: Identity) -> View:
        rows = []
        for file in all_files(self._host.home):
            if not who.may_see(file.chat.channel, file.chat.chat_id):
                continue
            try:
                text = await asyncio.to_thread(file.read)
            except Complaint as error:
                text = f"{error}."
            if text:
                link = Link(file.chat.label, build_path("user-model", chat=file.chat.label))
                rows.append(Row([link, _short(text), len(text)]))
        empty = "No profiles yet. Hookline writes one after a few messages in a chat."
        table = Table(["Chat", "Profile", "Characters"], rows, empty=empty)
        return View(
            "Profiles", [table], "What Hookline knows about the people in each chat.", (MEMORY,)
        )

    async def _one(self, chat: Chat, pinning: Field | None = None) -> View:
        try:
            present = await self._portraits.present(chat)
        except Complaint as error:
            told = f"{error}."
            return View(chat.label, [Text(told, "warning")], "", (MEMORY, Link("Profiles", PATH)))
        past = await self._portraits.past(chat)
        label = {"chat": chat.label}
        parts: list[Part] = [
            Stats(
                [
                    Stat("Length", f"{len(present.text):,}", f"of {self._limit:,} characters"),
                    Stat("Pinned lines", f"{len(present.portrait.pinned):,}", "never dropped"),
                    Stat("Versions", f"{len(past):,}"),
                ]
            ),
            _lines(present.text, label),
        ]
        if present.text:
            sure = "Clear this profile, including pinned lines? You can restore a version later."
            parts.append(Actions([Action("Clear", f"{PATH}/clear", label, sure, "danger")]))
        field = pinning or Field("text", "A line to keep", required=True)
        hidden = Field("chat", kind="hidden", value=chat.label)
        parts.append(Form(f"{PATH}/pin", [hidden, field], "Pin"))
        parts.append(_versions(past, label))
        if past:
            before = past[1].text if len(past) > 1 else ""
            changed = Diff(before, past[0].text, f"Version {past[0].version}")
            parts.append(Group("Last change", [changed]))
        crumbs = (MEMORY, Link("Profiles", PATH))
        status = 422 if pinning else 200
        return View(
            chat.label, parts, "What Hookline knows about this person.", crumbs, status=status
        )

    async def pin(self, request: RequestLike) -> Redirect | View:
        """``POST /user-model/pin``: ``chat text``"""
        given, who = await read_form(request), identity(request)
        chat, text = self._chat(who, given.get("chat", "")), " ".join(given.get("text", "").split())
        error = "" if text else "Enter the line to keep."
        if text:
            origins = () if who.is_operator else (Origin("person", who.person),)
            try:
                learnt = await self._host.learn(
                    text, f"{PATH} of {who.person}", KIND, origins=origins
                )
                line = await self._upkeep.pin(chat, Source("pin"), learnt)
                return Redirect(_path(chat), f"Pinned: {line}")
            except (Complaint, Refused) as refused:
                error = _sentence(refused)
        label = "A line to keep"
        return await self._one(chat, Field("text", label, value=text, required=True, error=error))

    async def unpin(self, request: RequestLike) -> Redirect:
        """``POST /user-model/unpin``: ``chat text``"""
        given = await read_form(request)
        chat = self._chat(identity(request), given.get("chat", ""))
        try:
            line = await self._upkeep.unpin(chat, Source("unpin"), given.get("text", ""))
        except Complaint as error:
            return Redirect(_path(chat), _sentence(error), "bad")
        return Redirect(_path(chat), f"Unpinned: {line}")

    async def clear(self, request: RequestLike) -> Redirect:
        """``POST /user-model/clear``: ``chat``"""
        chat = self._chat(identity(request), (await read_form(request)).get("chat", ""))
        try:
            was = await self._upkeep.clear(chat, Source("clear"))
        except Complaint as error:
            return Redirect(_path(chat), _sentence(error), "bad")
        return Redirect(_path(chat), "Cleared." if was else "The profile was already empty.")

    async def restore(self, request: RequestLike) -> Redirect:
        """``POST /user-model/restore``: ``chat version``"""
        given = await read_form(request)
        chat = self._chat(identity(request), given.get("chat", ""))
        number = given.get("version", "")
        if not number.isdecimal() or len(number) > 9:
            raise Problem(400, "bad_version", "The version must be a number.")
        try:
            await self._upkeep.restore(chat, Source("restore"), int(number))
        except Complaint as error:
            return Redirect(_path(chat), _sentence(error), "bad")
        return Redirect(_path(chat), f"Version {int(number)} was restored.")

    def _chat(self, who: Identity, label: str) -> Chat:
        """The chat of a label. Raises ``Problem`` if it is none, or not this person's."""
        found = Chat.named(label, [one.name for one in self._host.channels()])
        if found is not None and who.may_see(found.channel, found.chat_id):
            return found
        raise Problem(404, "not_found", "Chat not found.", "Find it under Memory.")


def _path(chat: Chat) -> str:
    return build_path("user-model", chat=chat.label)


def _lines(text: str, label: dict[str, str]) -> Table:
    rows = [
        Row(
            [line.removeprefix(PIN), "pinned" if line.startswith(PIN) else ""],
            [Action("Unpin", f"{PATH}/unpin", {**label, "text": line.removeprefix(PIN)})]
            if line.startswith(PIN)
            else (),
        )
        for line in text.split("\n")
        if line.strip()
    ]
    empty = "This profile is empty. Hookline fills it from the conversation, or pin a line below."
    return Table(["Line", ""], rows, empty=empty)


def _versions(past: Sequence[Version], label: dict[str, str]) -> Table:
    rows = []
    for place, one in enumerate(past):
        fields = {**label, "version": str(one.version)}
        link = Link("session", build_path("sessions", one.session_id)) if one.session_id else None
        back = [Action("Restore", f"{PATH}/restore", fields)] if place else []
        cells: list[Cell] = [
            one.version,
            Timestamp(one.created),
            HOWS.get(one.origin, one.origin),
            link,
        ]
        rows.append(Row([*cells, _short(one.text) or "(empty)"], back, one.text))
    columns = ["Version", "When", "Change", "Session", "Text"]
    return Table(columns, rows, "Versions", "No versions yet.")


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= SHOWN else flat[: SHOWN - 1] + "…"


def _sentence(error: Exception) -> str:
    text = str(error)
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?")) else ".")
