"""The endpoints below ``/v1``."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Any
from uuid import uuid4
from weakref import WeakValueDictionary

from hookline_hookspecs import Host, Inbound, StoreError
from hookline_hookspecs.web import Identity, Problem, identity
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from . import light
from .asked import MODELS, Asked, linked
from .body import read_json
from .chat_request import read_chat
from .chat_wire import ChatWire
from .config import OpenAIApiConfig
from .errors import ApiError, bad
from .files import Files
from .keys import CHANNEL
from .response_request import read_response
from .response_wire import PREFIX, ResponseWire
from .run import Entry, Run
from .runs import Runs
from .sessions import HEADER, SessionFinder

Handler = Callable[[Request], Awaitable[Response]]
SILENCE = 0.8
"""Seconds without an event after which a comment is sent, so that nobody takes it for dead."""
ALIVE = b": keep-alive\n\n"
STARTED = 1_767_225_600
"""When the models were made, as far as clients are told; Unix time."""
_LONGEST_KEY = 255


def answering(handler: Callable[[Any, Request], Awaitable[Response]]) -> Any:
    """Make every refusal one of OpenAI's shape, and nothing a failure without a sentence."""

    async def answer(self: Any, request: Request) -> Response:
        try:
            return await handler(self, request)
        except ApiError as error:
            return JSONResponse(error.as_json(), error.status, error.headers)
        except (Problem, ClientDisconnect):
            raise
        except StoreError as error:
            self.host.log.error("the store failed: %s", error)
            refused = ApiError(503, "The database cannot be used at the moment.", "store")
            return JSONResponse(refused.as_json(), 503, {"Retry-After": "5"})
        except Exception:
            self.host.log.exception("a request failed")
            refused = ApiError(500, "The server failed; its log says why.", "internal")
            return JSONResponse(refused.as_json(), 500, {"x-should-retry": "false"})

    return answer


class Api:
    """Answers clients that have a key.

    Args:
        host: the plugin's host.
        config: the plugin's settings.
        runs: the requests under way.
    """

    def __init__(self, host: Host, config: OpenAIApiConfig, runs: Runs) -> None:
        self.host = host
        self._runs = runs
        keep = config.keep_days * 86_400
        self._sessions = SessionFinder(host, config.session_headers, keep)
        self.files = Files(host, config.max_file_bytes)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    # Models

    @answering
    async def models(self, request: Request) -> Response:
        """``GET /v1/models``."""
        return JSONResponse({"object": "list", "data": [_model(name) for name in MODELS]})

    @answering
    async def model(self, request: Request) -> Response:
        """``GET /v1/models/{name}``."""
        name = request.path_params["name"]
        if name not in MODELS:
            text = f"There is no model {name[:80]!r}; there are {' and '.join(MODELS)}."
            raise ApiError(404, text, "model_not_found", "model")
        return JSONResponse(_model(name))

    @answering
    async def missing(self, request: Request) -> Response:
        """Whatever else is below ``/v1``."""
        path = request.url.path[:120]
        for start, why in _ABSENT.items():
            if path.startswith(start):
                raise ApiError(404, f"{why} ({path})", "not_available")
        raise ApiError(
            404,
            f"There is no {request.method} {path}; there are /v1/models, /v1/chat/completions and "
            "/v1/responses.",
            "not_found",
        )

    @answering
    async def transcription(self, request: Request) -> Response:
        """``POST /v1/audio/transcriptions``."""
        from .audio import transcribed

        return await transcribed(self.host, request, self.files)

    @answering
    async def speech(self, request: Request) -> Response:
        """``POST /v1/audio/speech``."""
        from .audio import spoken

        return await spoken(self.host, read_json(await read_body(request)))

    # Chat completions

    @answering
    async def chat(self, request: Request) -> Response:
        """``POST /v1/chat/completions``."""
        data = read_json(await read_body(request))
        asked = read_chat(data)
        run, headers = await self._begun(request, asked, data)
        wire = ChatWire(run)
        if not asked.stream:
            await run.wait()
            return JSONResponse(wire.whole(), headers=headers)

        def render(entry: Entry) -> Iterator[Any]:
            return wire.chunks(entry, include_usage=asked.include_usage)

        return _stream(self._chat_stream(run, wire, render), headers)

    async def _chat_stream(
        self, run: Run, wire: ChatWire, render: Callable[[Entry], Iterator[Any]]
    ) -> AsyncIterator[bytes]:
        async for piece in self._sent(run, [wire.first()], render, named=False):
            yield piece
        yield b"data: [DONE]\n\n"

    # Responses

    @answering
    async def respond(self, request: Request) -> Response:
        """``POST /v1/responses``."""
        data = read_json(await read_body(request))
        asked = read_response(data)
        run, headers = await self._begun(request, asked, data)
        if asked.stream:
            wire = ResponseWire(run)
            sent = self._sent(run, wire.first(), wire.events, named=True)
            return _stream(sent, headers)
        if not asked.background:
            await run.wait()
            return JSONResponse(ResponseWire.read(run).whole(), headers=headers)
        return JSONResponse(ResponseWire.read(run).response, headers=headers)

    @answering
    async def response(self, request: Request) -> Response:
        """``GET /v1/responses/{id}``; with ``stream=true`` its events, after ``starting_after``."""
        run = await self._stored(request)
        if request.query_params.get("stream") != "true":
            return JSONResponse(ResponseWire.read(run).response)
        given = request.query_params.get("starting_after", "-1")
        if not given.lstrip("-").isdecimal() or len(given) > 12:
            raise bad("starting_after must be a whole number.", "starting_after")
        after, wire = int(given), ResponseWire(run)

        def later(events: Iterator[Any]) -> list[Any]:
            return [event for event in events if event["sequence_number"] > after]

        sent = self._sent(
            run,
            later(wire.first()),
            lambda entry: iter(later(wire.events(entry))),
            named=True,
            watches=True,
        )
        return _stream(sent, {HEADER: run.session_id})

    @answering
    async def delete_response(self, request: Request) -> Response:
        """``DELETE /v1/responses/{id}``."""
        run = await self._stored(request)
        await self._runs.stop(run)
        await self._runs.delete(run)
        return JSONResponse({"id": PREFIX + run.id, "object": "response", "deleted": True})

    @answering
    async def cancel_response(self, request: Request) -> Response:
        """``POST /v1/responses/{id}/cancel``."""
        run = await self._stored(request)
        if run.end is None and not run.request.get("background"):
            raise bad("Only a response with background: true can be cancelled.")
        if run.end is None:
            await self._runs.stop(run)
            await run.wait()
        return JSONResponse(ResponseWire.read(run).response)

    @answering
    async def input_items(self, request: Request) -> Response:
        """``GET /v1/responses/{id}/input_items``."""
        run = await self._stored(request)
        text = str(run.request.get("input", ""))
        item = {
            "id": f"msg_{run.id}_in",
            "type": "message",
            "role": "user",
            "status": "completed",
            "content": [{"type": "input_text", "text": text}],
        }
        ends = {"first_id": item["id"], "last_id": item["id"], "has_more": False}
        return JSONResponse({"object": "list", "data": [item], **ends})

    async def _stored(self, request: Request) -> Run:
        return await self._previous(identity(request).name, request.path_params["id"], "id")

    async def _previous(self, owner: str, response_id: str, where: str) -> Run:
        """Return a stored response of this key. Raises ``ApiError`` (404)."""
        run = None
        if response_id.startswith(PREFIX) and len(response_id) < 80:
            run = await self._runs.load(response_id.removeprefix(PREFIX))
        if run is None or run.owner != owner or run.kind != "response" or not _is_kept(run):
            text = f"There is no response {response_id[:80]!r} of this key."
            raise ApiError(404, text, "response_not_found", where)
        return run

    # Beginning a run

    async def _begun(
        self, request: Request, asked: Asked, data: dict[str, Any]
    ) -> tuple[Run, dict[str, str]]:
        """Return the run of a request: a new one, or the one that it repeats."""
        who = identity(request)
        ignored = {"X-Hookline-Ignored": ", ".join(asked.ignored)} if asked.ignored else {}
        if asked.model == "hookline-light":
            run = Run(uuid4().hex, who.name, asked.kind, "", _echo(asked, store=False))
            await light.begin(self.host, run, asked)
            return run, ignored
        same = json.dumps([request.url.path, data], sort_keys=True)
        digest = hashlib.sha256(same.encode()).hexdigest()
        async with self._locks.setdefault(who.name, asyncio.Lock()):
            known = await self._repeated(request, who, digest)
            run = known or await self._new(request, who, asked, digest)
            if run.end is None and run.inbound is None:
                # It may have been lost before it was stored; a message that is known does nothing.
                await self._send(run, who, asked)
        return run, {HEADER: run.session_id, "X-Request-Id": run.id, **ignored}

    async def _repeated(self, request: Request, who: Identity, digest: str) -> Run | None:
        """Return the run that a request asks for again, or None."""
        retry = _retry_key(request)
        if retry is not None:
            known = await self._runs.retried(who.name, retry)
            if known is None:
                return None
            if known[1] != digest:
                raise ApiError(
                    409,
                    "This Idempotency-Key was used for another request; take a new one.",
                    "idempotency_key_reused",
                )
            return await self._not_stopped(who, known[0], retry)
        count = request.headers.get("x-stainless-retry-count", "0")
        if not count.isdecimal() or not count.strip("0"):
            return None
        found = await self._runs.repeated(who.name, digest)
        return await self._not_stopped(who, found, None) if found is not None else None

    async def _not_stopped(self, who: Identity, run_id: str, retry: str | None) -> Run | None:
        """Return a run, but None for one that was stopped because its client had gone away."""
        run = await self._runs.load(run_id)
        if run is None or run.end is None or run.end["state"] != "cancelled":
            return run
        if retry is not None:
            await self._runs.forget_retry(who.name, retry)
        return None

    async def _new(self, request: Request, who: Identity, asked: Asked, digest: str) -> Run:
        previous = None
        if asked.previous is not None:
            before = await self._previous(who.name, asked.previous, "previous_response_id")
            previous = await self._sessions.after(who.name, before)
        found = await self._sessions.find(who.name, request.headers, asked, previous)
        chain = linked(asked.head, "user", asked.content)
        run = Run(uuid4().hex, who.name, asked.kind, found.id, _echo(asked), chain)
        run.retry = _retry_key(request)
        if found.is_new:
            await self._sessions.bring(who.name, found, asked.history)
        await self._send(run, who, asked, digest)
        return run

    async def _send(self, run: Run, who: Identity, asked: Asked, digest: str = "") -> None:
        """Hand the message to core, which stores it; that of a stream when the stream begins, so
        that a stream which the server refuses does nothing."""
        attachments = await self.files.save(asked.content)
        run.inbound = Inbound(
            CHANNEL,
            who.name,
            who.name,
            run.id,
            asked.content.text,
            attachments,
            received=self.host.now(),
            session_id=run.session_id,
            system=asked.system or None,
            private=True,
        )
        if digest:
            await self._runs.add(run, digest)
        run.is_held = asked.stream
        if not run.is_held:
            await self.host.receive(run.inbound)

    # Streaming

    async def _sent(
        self,
        run: Run,
        first: Any,
        render: Callable[[Entry], Iterator[Any]],
        *,
        named: bool,
        watches: bool = False,
    ) -> AsyncIterator[bytes]:
        """Yield a run as server-sent events, with comments while nothing happens.

        Whoever only ``watches`` stops nothing by going away.
        """
        run.followers += 1
        try:
            if run.is_held and run.inbound is not None:
                run.is_held = False
                # Not cancelled with the stream: a message that is half taken would wait for long.
                taking = self.host.spawn(self.host.receive(run.inbound), "receive")
                await asyncio.shield(taking)
            yield b"".join([_event(one, named) for one in first]) or ALIVE
            async for entries in run.follow(SILENCE):
                pieces = [_event(one, named) for entry in entries for one in render(entry)]
                yield b"".join(pieces) or ALIVE
        finally:
            run.followers -= 1
            if not watches and not run.request.get("background") and run.session_id:
                self._runs.gone(run)


async def read_body(request: Request) -> bytes:
    """Return the body of a request. Raises ``ApiError`` (415) for one that is not JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise ApiError(
            415, "Send the request with Content-Type: application/json.", "unsupported_media_type"
        )
    return await request.body()


def _retry_key(request: Request) -> str | None:
    key = request.headers.get("idempotency-key")
    if key is None:
        return None
    if not 0 < len(key) <= _LONGEST_KEY:
        raise bad(f"Idempotency-Key has 1 to {_LONGEST_KEY} characters.", "Idempotency-Key")
    return hashlib.sha256(key.encode()).hexdigest()


def _echo(asked: Asked, store: bool | None = None) -> dict[str, Any]:
    """Return what is kept of a request."""
    kept = {"model": asked.model, "stream": asked.stream, "system": asked.system, **asked.echo}
    if asked.kind == "response":
        kept |= {"store": asked.store if store is None else store}
        kept |= {"background": asked.background, "input": asked.content.text[:100_000]}
    return kept


def _is_kept(run: Run) -> bool:
    return bool(run.request.get("store", True))


def _event(data: Mapping[str, Any], named: bool) -> bytes:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    name = f"event: {data['type']}\n" if named else ""
    return f"{name}data: {text}\n\n".encode("utf-8", "replace")


def _stream(pieces: AsyncIterator[bytes], headers: Mapping[str, str]) -> Response:
    own = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no", **headers}
    return StreamingResponse(pieces, headers=own, media_type="text/event-stream")


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": STARTED, "owned_by": "hookline"}


_ABSENT = {
    "/v1/embeddings": "There are no embeddings here; ask the model's own server for them.",
    "/v1/files": "There is no files API here; send a file's content in the message.",
    "/v1/images": "Pictures are made in a conversation, by the agent's own tools.",
    "/v1/completions": "Use /v1/chat/completions or /v1/responses.",
    "/v1/conversations": "Send `conversation` with a name to /v1/responses; nothing is to be made.",
    "/v1/assistants": "Use /v1/responses.",
    "/v1/threads": "Use /v1/responses.",
    "/v1/fine_tuning": "Nothing is trained here.",
    "/v1/batches": "There are no batches here.",
    "/v1/moderations": "There are no moderations here.",
    "/v1/audio": "Of audio there are /v1/audio/transcriptions and /v1/audio/speech.",
}
