"""The web pages ``/user-model``: the profiles of the people in each chat, with their versions.

Imported when a web server asks for routes. The page Memory links here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from hookline_hookspecs import Host, Origin, Refused, Route
from hookline_hookspecs.chat_files import Chat
from hookline_hookspecs.web import (
    N_,
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
    format_number,
    identity,
    plain_name,
    query_params,
    read_form,
    t,
)

from .config import UserModelConfig
from .curator import KIND
from .profile import PIN
from .profile_edits import ProfileEdits
from .profiles import ChangeSource, ProfileStore, ProfileVersion
from .user_file import InvalidChange, all_files

PATH = "/user-model"
MAX_VERSION_CHARS = 200
"""Characters of a version in the list."""
CHANGE_LABELS = {
    "curated": N_("written from the conversation"),
    "hand": N_("written by hand"),
    "pin": N_("line pinned"),
    "unpin": N_("line unpinned"),
    "clear": N_("cleared"),
    "restore": N_("restored"),
    "undo": N_("undone"),
}


class ProfilePages:
    """The pages of profiles; a person sees those of their own chats."""

    def __init__(self, host: Host, profiles: ProfileStore, config: UserModelConfig) -> None:
        self._host = host
        self._profiles = profiles
        self._limit = config.max_chars
        self._edits = ProfileEdits(profiles, config.max_chars)

    def register(self, register: Callable[[Route], None]) -> None:
        """Register the pages and the targets of their forms."""
        create_tables(self._host, "version_by_id", id=0)
        register(SiteRoute("GET", PATH, self.show, auth="person"))
        for name, handler, log in (
            ("pin", self.pin, N_("pinned a line of a profile")),
            ("unpin", self.unpin, N_("unpinned a line of a profile")),
            ("clear", self.clear, N_("cleared a profile")),
            ("restore", self.restore, N_("restored a profile")),
        ):
            register(SiteRoute("POST", f"{PATH}/{name}", handler, auth="person", log=log))

    async def show(self, request: RequestLike) -> View:
        """``GET /user-model[?chat=CHANNEL:ID]``"""
        who, query = identity(request), query_params(request)
        if "chat" not in query:
            return await self._all(who)
        return await self._one(self._chat(who, query["chat"]))

    async def _all(self, who: Identity) -> View:
        rows = []
        for file in all_files(self._host.home):
            if not who.may_see(file.chat.channel, file.chat.chat_id):
                continue
            try:
                text = await asyncio.to_thread(file.read)
            except InvalidChange as error:
                text = f"{error}."
            if text:
                link = Link(
                    plain_name(file.chat.label), build_path("user-model", chat=file.chat.label)
                )
                rows.append(Row([link, _short(text), len(text)]))
        empty = t("No profiles yet. Hookline writes one after a few messages in a chat.")
        table = Table([t("Chat"), t("Profile"), t("Characters")], rows, empty=empty)
        return View(
            t("Profiles"),
            [table],
            t("What Hookline knows about the people in each chat."),
            (Link(t("Memory"), "/memory"),),
        )

    async def _one(self, chat: Chat, pinning: Field | None = None) -> View:
        try:
            present = await self._profiles.present(chat)
        except InvalidChange as error:
            problem = f"{error}."
            return View(plain_name(chat.label), [Text(problem, "warning")], "", _crumbs())
        versions = await self._profiles.versions(chat)
        label = {"chat": chat.label}
        parts: list[Part] = [
            Stats(
                [
                    Stat(
                        t("Length"),
                        format_number(len(present.text)),
                        t("of {limit} characters", limit=self._limit),
                    ),
                    Stat(
                        t("Pinned lines"),
                        format_number(len(present.profile.pinned)),
                        t("never dropped"),
                    ),
                    Stat(t("Versions"), format_number(len(versions))),
                ]
            ),
            _lines(present.text, label),
        ]
        if present.text:
            question = t(
                "Clear this profile, including pinned lines? You can restore a version later."
            )
            parts.append(Actions([Action(t("Clear"), f"{PATH}/clear", label, question, "danger")]))
        field = pinning or Field("text", t("Line to keep"), required=True)
        hidden = Field("chat", kind="hidden", value=chat.label)
        parts.append(Form(f"{PATH}/pin", [hidden, field], t("Pin")))
        parts.append(_versions(versions, label))
        if versions:
            before = versions[1].text if len(versions) > 1 else ""
            changed = Diff(
                before, versions[0].text, t("Version {number}", number=versions[0].version)
            )
            parts.append(Group(t("Last change"), [changed]))
        crumbs = _crumbs()
        status = 422 if pinning else 200
        return View(
            plain_name(chat.label),
            parts,
            t("What Hookline knows about this person."),
            crumbs,
            status=status,
        )

    async def pin(self, request: RequestLike) -> Redirect | View:
        """``POST /user-model/pin``: ``chat text``"""
        form, who = await read_form(request), identity(request)
        chat, text = self._chat(who, form.get("chat", "")), " ".join(form.get("text", "").split())
        error = "" if text else t("Enter the line to keep.")
        if text:
            origins = () if who.is_operator else (Origin("person", who.person),)
            try:
                learned = await self._host.learn(
                    text, f"{PATH} of {who.person}", KIND, origins=origins
                )
                line = await self._edits.pin(chat, ChangeSource("pin"), learned)
                return Redirect(_path(chat), t("Pinned: {line}", line=line))
            except (InvalidChange, Refused) as refused:
                error = _sentence(refused)
        label = t("Line to keep")
        return await self._one(chat, Field("text", label, value=text, required=True, error=error))

    async def unpin(self, request: RequestLike) -> Redirect:
        """``POST /user-model/unpin``: ``chat text``"""
        form = await read_form(request)
        chat = self._chat(identity(request), form.get("chat", ""))
        try:
            line = await self._edits.unpin(chat, ChangeSource("unpin"), form.get("text", ""))
        except InvalidChange as error:
            return Redirect(_path(chat), _sentence(error), "bad")
        return Redirect(_path(chat), t("Unpinned: {line}", line=line))

    async def clear(self, request: RequestLike) -> Redirect:
        """``POST /user-model/clear``: ``chat``"""
        chat = self._chat(identity(request), (await read_form(request)).get("chat", ""))
        try:
            was = await self._edits.clear(chat, ChangeSource("clear"))
        except InvalidChange as error:
            return Redirect(_path(chat), _sentence(error), "bad")
        return Redirect(_path(chat), t("Cleared.") if was else t("The profile was already empty."))

    async def restore(self, request: RequestLike) -> Redirect:
        """``POST /user-model/restore``: ``chat version``"""
        form = await read_form(request)
        chat = self._chat(identity(request), form.get("chat", ""))
        number = form.get("version", "")
        if not number.isdecimal() or len(number) > 9:
            raise Problem(400, "bad_version", t("The version must be a number."))
        try:
            await self._edits.restore(chat, ChangeSource("restore"), int(number))
        except InvalidChange as error:
            return Redirect(_path(chat), _sentence(error), "bad")
        return Redirect(_path(chat), t("Version {number} was restored.", number=int(number)))

    def _chat(self, who: Identity, label: str) -> Chat:
        """Return the chat of a label. Raises ``Problem`` if the person may not see it."""
        found = Chat.named(label, [channel.name for channel in self._host.channels()])
        if found is not None and who.may_see(found.channel, found.chat_id):
            return found
        raise Problem(404, "not_found", t("Chat not found."), t("Find it under Memory."))


def _path(chat: Chat) -> str:
    return build_path("user-model", chat=chat.label)


def _lines(text: str, label: dict[str, str]) -> Table:
    rows = [
        Row(
            [line.removeprefix(PIN), t("pinned") if line.startswith(PIN) else ""],
            [Action(t("Unpin"), f"{PATH}/unpin", {**label, "text": line.removeprefix(PIN)})]
            if line.startswith(PIN)
            else (),
        )
        for line in text.split("\n")
        if line.strip()
    ]
    empty = t(
        "This profile is empty. Hookline fills it from the conversation, or pin a line below."
    )
    return Table([t("Line"), ""], rows, empty=empty)


def _crumbs() -> tuple[Link, ...]:
    return (Link(t("Memory"), "/memory"), Link(t("Profiles"), PATH))


def _versions(versions: Sequence[ProfileVersion], label: dict[str, str]) -> Table:
    rows = []
    for place, one in enumerate(versions):
        fields = {**label, "version": str(one.version)}
        link = (
            Link(t("session"), build_path("sessions", one.session_id)) if one.session_id else None
        )
        back = [Action(t("Restore"), f"{PATH}/restore", fields)] if place else []
        cells: list[Cell] = [one.version, Timestamp(one.created), change_label(one.origin), link]
        rows.append(Row([*cells, _short(one.text) or t("(empty)")], back, one.text))
    columns = [t("Version"), t("When"), t("Change"), t("Session"), t("Text")]
    return Table(columns, rows, t("Versions"), t("No versions yet."))


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= MAX_VERSION_CHARS else flat[: MAX_VERSION_CHARS - 1] + "…"


def _sentence(error: Exception) -> str:
    text = str(error)
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?")) else ".")


def change_label(origin: str) -> str:
    """How a version came about: ``written by hand``."""
    return t(CHANGE_LABELS.get(origin, origin))
