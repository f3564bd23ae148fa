"""The routes under ``/api``: each checks its input and calls another part."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from hookline_hookspecs import Command, Conversations, HooklineError, Inspection, Route
from hookline_hookspecs.speech import ReadAloud, Speaker, Transcriber
from hookline_hookspecs.web import (
    N_,
    Identity,
    Problem,
    SiteRoute,
    TurnViews,
    identity,
    t,
    translate,
    view_as_json,
)

from .branch import branch
from .export import jsonl, markdown
from .files import MAX_FILE_BYTES
from .json_body import read_body
from .message_sender import MAX_MESSAGE_CHARS
from .session_owner import CHANNEL, is_mine

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from .page import Pages

MAX_JSON_BYTES = 4_000_000
"""Enough for the longest message with every character escaped."""
MAX_POSTS_PER_MINUTE = 60
"""POST requests of a person to one route."""
MAX_TITLE_CHARS = 200
MAX_FOLDER_CHARS = 60
DOWNLOAD_HEADERS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "private, no-store"}


class Api:
    """The handlers. The web server turns a :class:`Problem` into a response."""

    def __init__(self, pages: Pages) -> None:
        self._pages, self._host = pages, pages.host

    def register(self, register: Callable[[Route], None]) -> None:
        """Register every route."""
        session = "/api/sessions/{id}"
        log: Mapping[tuple[str, str], str] = {
            ("PATCH", session): N_("changed a chat"),
            ("DELETE", session): N_("deleted a chat"),
            ("DELETE", f"{session}/queue/{{message}}"): N_("took back a message"),
            ("POST", f"{session}/stop"): N_("stopped a turn"),
            ("POST", f"{session}/answer"): N_("answered a question"),
            ("POST", f"{session}/branch"): N_("continued a chat as a copy"),
            ("POST", f"{session}/versions"): N_("changed a message or had it answered again"),
            ("POST", f"{session}/settings"): N_("changed the settings of a chat"),
            ("POST", f"{session}/speech"): N_("had an answer read aloud"),
            ("POST", "/api/push"): N_("switched on notifications"),
            ("DELETE", "/api/push"): N_("switched off notifications"),
        }
        for method, path, handler in (
            ("GET", "/api/state", self.state),
            ("GET", "/api/events", self.events),
            ("GET", "/api/commands", self.commands),
            ("GET", "/api/commands/complete", self.complete),
            ("GET", "/api/sessions", self.sessions),
            ("GET", session, self.session),
            ("PATCH", session, self.change),
            ("DELETE", session, self.delete),
            ("GET", f"{session}/export", self.export),
            ("POST", f"{session}/messages", self.message),
            ("DELETE", f"{session}/queue/{{message}}", self.withdraw),
            ("POST", f"{session}/stop", self.stop),
            ("GET", f"{session}/questions/{{question}}", self.question),
            ("POST", f"{session}/answer", self.answer),
            ("POST", f"{session}/branch", self.branch),
            ("POST", f"{session}/versions", self.version),
            ("GET", "/api/settings", self.new_settings),
            ("GET", f"{session}/settings", self.settings),
            ("POST", f"{session}/settings", self.set),
            ("POST", f"{session}/speech", self.speech),
            ("GET", f"{session}/turns/{{turn}}", self.turn),
            ("GET", "/api/files/{id}", self.file),
            ("GET", "/api/push", self.push),
            ("POST", "/api/push", self.subscribe),
            ("DELETE", "/api/push", self.unsubscribe),
        ):
            most = MAX_JSON_BYTES if handler in (self.message, self.version) else 100_000
            rate = MAX_POSTS_PER_MINUTE if method == "POST" else 0
            done = log.get((method, path), "")
            register(
                SiteRoute(method, path, handler, "person", max_bytes=most, rate=rate, log=done)
            )
        done, rate = N_("checked a folder for a chat"), MAX_POSTS_PER_MINUTE
        register(SiteRoute("POST", "/api/folders", self.folder, rate=rate, log=done))
        upload, done, most = self.upload, N_("uploaded a file"), MAX_FILE_BYTES
        register(SiteRoute("PUT", "/api/files/{id}", upload, "person", max_bytes=most, log=done))

    # State, events and commands

    async def state(self, request: Request) -> Response:
        """``GET /api/state``."""
        who, hub = identity(request), self._pages.hub
        services = self._host.services
        voice = {
            "listen": self._pages.has_voice and services.get(Transcriber) is not None,
            "speak": None not in (services.get(ReadAloud), services.get(Speaker)),
        }
        try:
            model = services[Inspection].default_model()
        except HooklineError:
            model = ""
        return _json(
            {
                "boot": hub.boot,
                "now": self._host.now(),
                "cursor": hub.cursor,
                "person": who.person,
                "name": who.name,
                "role": who.role,
                "model": model,
                "share": await self._pages.shared_links.may_share(who.name),
                "settings": (await self._pages.people_settings.read(who.name)).model_dump(),
                "voice": voice,
                "questions": await self._pages.reader.inbox(who),
                "limits": {"file": MAX_FILE_BYTES, "text": MAX_MESSAGE_CHARS},
                "version": version("hookline"),
            }
        )

    async def events(self, request: Request) -> Response:
        """``GET /api/events``."""
        from .event_stream import events

        return await events(self._pages.hub, self._pages.reader, identity(request), request)

    async def commands(self, request: Request) -> Response:
        """``GET /api/commands``."""
        who = identity(request)
        known = self._host.services[Conversations].commands()
        found = [one for one in known if is_offered(who, one)]
        return _json(
            {
                "commands": [
                    {
                        "name": one.name,
                        "help": translate(one.help),
                        "aliases": list(one.aliases),
                        "theme": t(one.category),
                        "immediate": one.immediate,
                        "audience": one.audience,
                        "completes": one.complete is not None,
                    }
                    for one in found
                ]
            }
        )

    async def complete(self, request: Request) -> Response:
        """``GET /api/commands/complete``: the arguments that a command offers."""
        who, query = identity(request), request.query_params
        name, _, typed = query.get("text", "").partition(" ")
        session = query.get("session", "")
        row = await self._pages.reader.row(who, session)
        known = self._host.services[Conversations].commands()
        found = next((one for one in known if name in (one.name, *one.aliases)), None)
        items: list[dict[str, str]] = []
        mine = is_mine(who, (row["channel"], row["chat_id"]))
        may = found is not None and mine and is_offered(who, found)
        if may and found is not None and found.complete is not None:
            pairs = await found.complete(session, typed)
            items = [{"text": text, "help": translate(about)} for text, about in pairs]
        return _json({"items": items})

    # Notifications

    async def push(self, request: Request) -> Response:
        """``GET /api/push``."""
        identity(request)
        return _json(await asyncio.to_thread(self._pages.push.state))

    async def subscribe(self, request: Request) -> Response:
        """``POST /api/push``."""
        await self._pages.push.subscribe(identity(request), await read_body(request))
        return _json({}, 201)

    async def unsubscribe(self, request: Request) -> Response:
        """``DELETE /api/push``."""
        endpoint = str((await read_body(request)).get("endpoint", ""))
        await self._pages.push.unsubscribe(identity(request), endpoint)
        return _json({})

    # Sessions

    async def sessions(self, request: Request) -> Response:
        """``GET /api/sessions``."""
        who = identity(request)
        return _json(await self._pages.reader.sessions(who, request.query_params))

    async def session(self, request: Request) -> Response:
        """``GET /api/sessions/{id}``."""
        who, id_ = identity(request), _id(request)
        return _json(await self._pages.reader.snapshot(who, id_, request.query_params))

    async def change(self, request: Request) -> Response:
        """``PATCH /api/sessions/{id}``."""
        who, id_ = identity(request), _id(request)
        body = await read_body(request)
        title, place = body.get("title"), _place(body)
        if "title" in body or not place:
            if not isinstance(title, str) or not 0 < len(title.strip()) <= MAX_TITLE_CHARS:
                raise _bad(f"The title must have 1 to {MAX_TITLE_CHARS} characters.")
            await self._pages.rename(who, id_, " ".join(title.split()))
        if place:
            await self._pages.put(who, id_, place)
        row = await self._pages.reader.row(who, id_)
        return _json({"session": self._pages.reader.as_json(who, row)})

    async def delete(self, request: Request) -> Response:
        """``DELETE /api/sessions/{id}``."""
        await self._pages.delete(identity(request), _id(request))
        return _json({})

    async def export(self, request: Request) -> Response:
        """``GET /api/sessions/{id}/export``."""
        from starlette.responses import Response

        who, id_ = identity(request), _id(request)
        row = await self._pages.reader.row(who, id_)
        rows = await self._host.storage.fetch("export", id=id_)
        if request.query_params.get("format", "jsonl") == "md":
            asked = [{**one, "turn_id": one["turn"]} for one in rows]
            messages = await self._pages.reader.messages(id_, asked)
            session = self._pages.reader.as_json(who, row)
            text, mime, suffix = markdown(session, messages), "text/markdown", "md"
        else:
            text, mime, suffix = jsonl(rows), "application/x-ndjson", "jsonl"
        headers = {**DOWNLOAD_HEADERS, "Content-Disposition": _attachment(f"{id_}.{suffix}")}
        return Response(text, media_type=mime, headers=headers)

    async def message(self, request: Request) -> Response:
        """``POST /api/sessions/{id}/messages``."""
        who, id_ = identity(request), _id(request)
        accepted = await self._pages.sender.message(who, id_, await read_body(request))
        return _json(accepted, 202)

    async def withdraw(self, request: Request) -> Response:
        """``DELETE /api/sessions/{id}/queue/{message}``."""
        who, id_ = identity(request), _id(request)
        return _json(await self._pages.sender.withdraw(who, id_, request.path_params["message"]))

    async def stop(self, request: Request) -> Response:
        """``POST /api/sessions/{id}/stop``."""
        stopped = await self._pages.sender.stop(identity(request), _id(request))
        return _json({"stopped": stopped}, 202)

    async def question(self, request: Request) -> Response:
        """``GET /api/sessions/{id}/questions/{question}``."""
        who, id_ = identity(request), _id(request)
        question = request.path_params["question"]
        return _json(await self._pages.questions.whole(who, id_, question))

    async def answer(self, request: Request) -> Response:
        """``POST /api/sessions/{id}/answer``."""
        who, id_ = identity(request), _id(request)
        await self._pages.sender.answer(who, id_, await read_body(request))
        return _json({}, 202)

    async def branch(self, request: Request) -> Response:
        """``POST /api/sessions/{id}/branch``."""
        who, id_ = identity(request), _id(request)
        before = (await read_body(request)).get("before")
        made = await branch(self._host, self._pages.reader, self._pages.files, who, id_, before)
        await self._pages.tell_session(made["id"])
        return _json(made, 201)

    async def version(self, request: Request) -> Response:
        """``POST /api/sessions/{id}/versions``."""
        who, id_ = identity(request), _id(request)
        made = await self._pages.versions.create(who, id_, await read_body(request))
        await self._pages.tell_session(made)
        return _json({"id": made}, 201)

    async def new_settings(self, request: Request) -> Response:
        """``GET /api/settings``: those of a new chat."""
        return _json(await self._pages.settings.read(identity(request), ""))

    async def folder(self, request: Request) -> Response:
        """``POST /api/folders``: check a path that a person has written for a chat."""
        path = (await read_body(request)).get("path")
        return _json({"path": await self._pages.folders.checked(identity(request), path)})

    async def settings(self, request: Request) -> Response:
        """``GET /api/sessions/{id}/settings``."""
        return _json(await self._pages.settings.read(identity(request), _id(request)))

    async def set(self, request: Request) -> Response:
        """``POST /api/sessions/{id}/settings``."""
        await self._pages.settings.change(identity(request), _id(request), await read_body(request))
        return _json({}, 202)

    async def speech(self, request: Request) -> Response:
        """``POST /api/sessions/{id}/speech``."""
        who, id_ = identity(request), _id(request)
        message = (await read_body(request)).get("message")
        return _json({"files": await self._pages.speech(who, id_, message)}, 201)

    async def turn(self, request: Request) -> Response:
        """``GET /api/sessions/{id}/turns/{turn}``."""
        who, id_ = identity(request), _id(request)
        await self._pages.reader.row(who, id_)
        turn = str(request.path_params["turn"])
        title = ""
        parts: list[object] = []
        for service in self._host.services.all(TurnViews):
            try:
                view = await service.turn_view(id_, turn)
            except Exception as error:  # one plugin's fault leaves the others' parts
                self._host.log.warning("%r could not show a turn", service, exc_info=error)
                continue
            if view is not None:
                title, parts = title or view.title, [*parts, *view.parts]
        if not parts:
            raise Problem(404, "not_found", t("No details were recorded for this turn."))
        return _json({"type": "view", "title": title, "parts": view_as_json(parts)})

    # Files

    async def upload(self, request: Request) -> Response:
        """``PUT /api/files/{id}``."""
        who, id_, query = identity(request), _id(request), request.query_params
        try:
            duration = max(0.0, min(float(query.get("duration") or 0), 86400.0))
        except ValueError:
            raise _bad("duration must be a number of seconds.") from None
        name, voice = query.get("name", ""), query.get("voice") == "1"
        arguments = (who, id_, _chunks(request), name, voice, duration)
        file, known = await self._pages.files.put(*arguments)
        return _json(file, 200 if known else 201)

    async def file(self, request: Request) -> Response:
        """``GET /api/files/{id}``."""
        from starlette.responses import FileResponse

        path, file = await self._pages.files.get(identity(request), _id(request))
        headers = {**DOWNLOAD_HEADERS, "Content-Disposition": _attachment(file["name"])}
        return FileResponse(path, media_type=file["mime"], headers=headers)


def is_offered(who: Identity, command: Command) -> bool:
    """Return whether a command works here for this person."""
    return command.channel in ("", CHANNEL) and (who.is_operator or command.audience != "operator")


def _json(value: Any, status: int = 200) -> Response:
    from starlette.responses import Response

    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    body = text.encode("utf-8", "backslashreplace")
    return Response(body, status, {"Cache-Control": "no-store"}, "application/json")


def _place(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return where a chat shall be in the list. Raises :class:`Problem` (400)."""
    place: dict[str, Any] = {}
    for name in ("pinned", "archived"):
        if name in body:
            if not isinstance(body[name], bool):
                raise _bad(f"{name} must be true or false.")
            place[name] = int(body[name])
    if "folder" in body:
        folder = body["folder"]
        if not isinstance(folder, str) or len(folder) > MAX_FOLDER_CHARS:
            raise _bad(f"The name of a folder can have {MAX_FOLDER_CHARS} characters at most.")
        place["folder"] = " ".join(folder.split())
    return place


def _id(request: Request) -> str:
    return str(request.path_params["id"])


def _bad(message: str) -> Problem:
    return Problem(400, "bad_request", message)


async def _chunks(request: Request) -> AsyncIterator[bytes]:
    async for chunk in request.stream():
        yield chunk


def _attachment(name: str) -> str:
    """Return the Content-Disposition header for saving a file of any name."""
    return f"attachment; filename*=UTF-8''{quote(name, safe='')}"
