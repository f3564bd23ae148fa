"""The routes under ``/api``: each checks its input and calls another part."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from hookline_hookspecs import Conversations, HooklineError, Inspection, Route
from hookline_hookspecs.speech import ReadAloud, Speaker, Transcriber
from hookline_hookspecs.strict_json import InvalidJson, parse_off_loop, read_json_object
from hookline_hookspecs.web import Problem, SiteRoute, TurnViews, identity, view_as_json

from .branch import branch
from .export import jsonl, markdown
from .files import MAX_FILE_BYTES
from .message_sender import MAX_MESSAGE_CHARS
from .session_owner import is_mine

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from .page import Pages

MAX_JSON_BYTES = 4_000_000
"""Enough for the longest message with every character escaped."""
MAX_POSTS_PER_MINUTE = 60
"""POST requests of a person to one route."""
MAX_TITLE_CHARS = 200
DOWNLOAD_HEADERS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "private, no-store"}


class Api:
    """The handlers. The web server turns a :class:`Problem` into a response."""

    def __init__(self, pages: Pages) -> None:
        self._pages, self._host = pages, pages.host

    def register(self, register: Callable[[Route], None]) -> None:
        """Register every route."""
        session = "/api/sessions/{id}"
        for method, path, handler in (
            ("GET", "/api/state", self.state),
            ("GET", "/api/events", self.events),
            ("GET", "/api/commands", self.commands),
            ("GET", "/api/commands/complete", self.complete),
            ("GET", "/api/sessions", self.sessions),
            ("GET", session, self.session),
            ("PATCH", session, self.rename),
            ("DELETE", session, self.delete),
            ("GET", f"{session}/export", self.export),
            ("POST", f"{session}/messages", self.message),
            ("POST", f"{session}/stop", self.stop),
            ("POST", f"{session}/answer", self.answer),
            ("POST", f"{session}/branch", self.branch),
            ("POST", f"{session}/speech", self.speech),
            ("GET", f"{session}/turns/{{turn}}", self.turn),
            ("GET", "/api/files/{id}", self.file),
            ("GET", "/api/push", self.push),
            ("POST", "/api/push", self.subscribe),
            ("DELETE", "/api/push", self.unsubscribe),
        ):
            most = MAX_JSON_BYTES if handler == self.message else 100_000
            rate = MAX_POSTS_PER_MINUTE if method == "POST" else 0
            register(SiteRoute(method, path, handler, "person", max_bytes=most, rate=rate))
        upload = self.upload
        register(
            SiteRoute("PUT", "/api/files/{id}", upload, auth="person", max_bytes=MAX_FILE_BYTES)
        )

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
                "cursor": hub.cursor,
                "person": who.person,
                "name": who.name,
                "role": who.role,
                "model": model,
                "voice": voice,
                "questions": await self._pages.questions.inbox(who),
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
        identity(request)
        found = self._host.services[Conversations].commands()
        return _json(
            {
                "commands": [
                    {
                        "name": one.name,
                        "help": one.help,
                        "aliases": list(one.aliases),
                        "theme": one.category,
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
        may = found is not None and mine and (who.is_operator or found.audience != "operator")
        if may and found is not None and found.complete is not None:
            pairs = await found.complete(session, typed)
            items = [{"text": text, "help": about} for text, about in pairs]
        return _json({"items": items})

    # Notifications

    async def push(self, request: Request) -> Response:
        """``GET /api/push``."""
        identity(request)
        return _json(await asyncio.to_thread(self._pages.push.state))

    async def subscribe(self, request: Request) -> Response:
        """``POST /api/push``."""
        await self._pages.push.subscribe(identity(request), await _body(request))
        return _json({}, 201)

    async def unsubscribe(self, request: Request) -> Response:
        """``DELETE /api/push``."""
        endpoint = str((await _body(request)).get("endpoint", ""))
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

    async def rename(self, request: Request) -> Response:
        """``PATCH /api/sessions/{id}``."""
        who, id_ = identity(request), _id(request)
        title = (await _body(request)).get("title")
        if not isinstance(title, str) or not 0 < len(title.strip()) <= MAX_TITLE_CHARS:
            raise _bad(f"The title must have 1 to {MAX_TITLE_CHARS} characters.")
        await self._pages.rename(who, id_, " ".join(title.split()))
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
        accepted = await self._pages.sender.message(who, id_, await _body(request))
        return _json(accepted, 202)

    async def stop(self, request: Request) -> Response:
        """``POST /api/sessions/{id}/stop``."""
        stopped = await self._pages.sender.stop(identity(request), _id(request))
        return _json({"stopped": stopped}, 202)

    async def answer(self, request: Request) -> Response:
        """``POST /api/sessions/{id}/answer``."""
        who, id_ = identity(request), _id(request)
        await self._pages.sender.answer(who, id_, await _body(request))
        return _json({}, 202)

    async def branch(self, request: Request) -> Response:
        """``POST /api/sessions/{id}/branch``."""
        who, id_ = identity(request), _id(request)
        before = (await _body(request)).get("before")
        made = await branch(self._host, self._pages.reader, self._pages.files, who, id_, before)
        await self._pages.tell_session(made["id"])
        return _json(made, 201)

    async def speech(self, request: Request) -> Response:
        """``POST /api/sessions/{id}/speech``."""
        who, id_ = identity(request), _id(request)
        message = (await _body(request)).get("message")
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
            raise Problem(404, "not_found", "No details were recorded for this turn.")
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


def _json(value: Any, status: int = 200) -> Response:
    from starlette.responses import Response

    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    body = text.encode("utf-8", "backslashreplace")
    return Response(body, status, {"Cache-Control": "no-store"}, "application/json")


def _id(request: Request) -> str:
    return str(request.path_params["id"])


def _bad(message: str) -> Problem:
    return Problem(400, "bad_request", message)


async def _body(request: Request) -> dict[str, Any]:
    """Return the JSON object of a body. Raises :class:`Problem` (415, 400)."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    text = await request.body()
    if not text:
        return {}
    if kind != "application/json":
        raise Problem(415, "not_json", "Send the body as application/json.")
    try:
        return await parse_off_loop(partial(read_json_object, any_text=True), text)
    except InvalidJson as error:
        raise _bad(f"The body is {error}.") from None


async def _chunks(request: Request) -> AsyncIterator[bytes]:
    async for chunk in request.stream():
        yield chunk


def _attachment(name: str) -> str:
    """Return the Content-Disposition header for saving a file of any name."""
    return f"attachment; filename*=UTF-8''{quote(name, safe='')}"
