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
from hookline_hookspecs.strict_json import parse_off_loop
from hookline_hookspecs.web import Identity, Problem, identity
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from . import light_model
from .active_runs import ActiveRuns
from .api_request import MODELS, ApiRequest, extend_chain
from .api_run import ApiRun, LogEntry
from .chat_format import ChatFormat
from .chat_request import read_chat
from .config import OpenAIApiConfig
from .errors import ApiError, invalid_request
from .file_store import FileStore
from .json_body import read_json
from .keys import CHANNEL
from .response_format import PREFIX, ResponseFormat
from .response_request import read_response
from .session_finder import HEADER, SessionFinder

Handler = Callable[[Request], Awaitable[Response]]
KEEPALIVE_INTERVAL = 0.8
"""Seconds without an event after which a comment is sent, so that no client times out."""
KEEPALIVE = b": keep-alive\n\n"
MODELS_CREATED = 1_767_225_600
"""The creation time of the models that clients see; Unix time."""
MAX_IDEMPOTENCY_KEY_CHARS = 255


def handle_errors(handler: Callable[[Any, Request], Awaitable[Response]]) -> Any:
    """Convert errors of an endpoint to OpenAI's format."""

    async def answer(self: Any, request: Request) -> Response:
        try:
            return await handler(self, request)
        except ApiError as error:
            return JSONResponse(error.as_json(), error.status, error.headers)
        except (Problem, ClientDisconnect):
            raise
        except StoreError as error:
            self.host.log.error("the store failed: %s", error)
            refused = ApiError(503, "The database is unavailable.", "store")
            return JSONResponse(refused.as_json(), 503, {"Retry-After": "5"})
        except Exception:
            self.host.log.exception("a request failed")
            refused = ApiError(500, "Internal error. See the server's log.", "internal")
            return JSONResponse(refused.as_json(), 500, {"x-should-retry": "false"})

    return answer


class ApiEndpoints:
    """Answers requests of clients with a key.

    Args:
        host: the plugin's host.
        config: the plugin's settings.
        runs: the running requests.
    """

    def __init__(self, host: Host, config: OpenAIApiConfig, runs: ActiveRuns) -> None:
        self.host = host
        self._runs = runs
        keep = config.keep_days * 86_400
        self._sessions = SessionFinder(host, config.session_headers, keep)
        self.files = FileStore(host, config.max_file_bytes)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @handle_errors
    async def models(self, request: Request) -> Response:
        """``GET /v1/models``."""
        return JSONResponse({"object": "list", "data": [_model(name) for name in MODELS]})

    @handle_errors
    async def model(self, request: Request) -> Response:
        """``GET /v1/models/{name}``."""
        name = request.path_params["name"]
        if name not in MODELS:
            text = f"Unknown model {name[:80]!r}. Models: {', '.join(MODELS)}."
            raise ApiError(404, text, "model_not_found", "model")
        return JSONResponse(_model(name))

    @handle_errors
    async def missing(self, request: Request) -> Response:
        """Any other path below ``/v1``, and paths of OpenAI's API without it."""
        path = request.url.path[:120]
        if path.startswith("/v1/v1/"):
            raise ApiError(404, "The base URL must contain /v1 only once.", "not_found")
        versioned = path if path.startswith("/v1/") else f"/v1{path}"
        for start, why in UNSUPPORTED_PATHS.items():
            if versioned.startswith(start):
                raise ApiError(404, f"{why} ({path})", "not_available")
        raise ApiError(
            404,
            f"{request.method} {path} does not exist. See /v1/models, /v1/chat/completions and "
            "/v1/responses.",
            "not_found",
        )

    @handle_errors
    async def transcription(self, request: Request) -> Response:
        """``POST /v1/audio/transcriptions``."""
        from .audio import transcribe

        return await transcribe(self.host, request, self.files)

    @handle_errors
    async def speech(self, request: Request) -> Response:
        """``POST /v1/audio/speech``."""
        from .audio import speak

        return await speak(self.host, await read_body(request))

    @handle_errors
    async def chat(self, request: Request) -> Response:
        """``POST /v1/chat/completions``."""
        data = await read_body(request)
        api_request = read_chat(data)
        run, headers = await self._start_run(request, api_request, data)
        wire = ChatFormat(run)
        if not api_request.stream:
            await run.wait()
            return JSONResponse(wire.final(), headers=headers)

        def render(entry: LogEntry) -> Iterator[Any]:
            return wire.chunks(entry, include_usage=api_request.include_usage)

        return _stream(self._chat_stream(run, wire, render), headers)

    async def _chat_stream(
        self, run: ApiRun, wire: ChatFormat, render: Callable[[LogEntry], Iterator[Any]]
    ) -> AsyncIterator[bytes]:
        async for piece in self._stream_events(run, [wire.first()], render, named=False):
            yield piece
        yield b"data: [DONE]\n\n"

    @handle_errors
    async def respond(self, request: Request) -> Response:
        """``POST /v1/responses``."""
        data = await read_body(request)
        api_request = read_response(data)
        run, headers = await self._start_run(request, api_request, data)
        if api_request.stream:
            wire = ResponseFormat(run)
            sent = self._stream_events(run, wire.first(), wire.events, named=True)
            return _stream(sent, headers)
        if not api_request.background:
            await run.wait()
            return JSONResponse(ResponseFormat.read(run).final(), headers=headers)
        return JSONResponse(ResponseFormat.read(run).response, headers=headers)

    @handle_errors
    async def response(self, request: Request) -> Response:
        """``GET /v1/responses/{id}``; with ``stream=true`` its events after ``starting_after``."""
        run = await self._load_response(request)
        if request.query_params.get("stream") != "true":
            return JSONResponse(ResponseFormat.read(run).response)
        position = request.query_params.get("starting_after", "-1")
        if not position.lstrip("-").isdecimal() or len(position) > 12:
            raise invalid_request("starting_after must be a whole number.", "starting_after")
        after = int(position)
        wire = ResponseFormat(run)

        def later(events: Iterator[Any]) -> list[Any]:
            return [event for event in events if event["sequence_number"] > after]

        sent = self._stream_events(
            run,
            later(wire.first()),
            lambda entry: iter(later(wire.events(entry))),
            named=True,
            watches=True,
        )
        return _stream(sent, {HEADER: run.session_id})

    @handle_errors
    async def delete_response(self, request: Request) -> Response:
        """``DELETE /v1/responses/{id}``."""
        run = await self._load_response(request)
        await self._runs.stop(run)
        await self._runs.delete(run)
        return JSONResponse({"id": PREFIX + run.id, "object": "response", "deleted": True})

    @handle_errors
    async def cancel_response(self, request: Request) -> Response:
        """``POST /v1/responses/{id}/cancel``."""
        run = await self._load_response(request)
        if run.end is None and not run.request.get("background"):
            raise invalid_request("Only a response with background: true can be cancelled.")
        if run.end is None:
            await self._runs.stop(run)
            await run.wait()
        return JSONResponse(ResponseFormat.read(run).response)

    @handle_errors
    async def input_items(self, request: Request) -> Response:
        """``GET /v1/responses/{id}/input_items``."""
        run = await self._load_response(request)
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

    async def _load_response(self, request: Request) -> ApiRun:
        return await self._find_response(identity(request).name, request.path_params["id"], "id")

    async def _find_response(self, owner: str, response_id: str, where: str) -> ApiRun:
        """Return a stored response of this key. Raises ``ApiError`` (404)."""
        run = None
        if response_id.startswith(PREFIX) and len(response_id) < 80:
            run = await self._runs.load(response_id.removeprefix(PREFIX))
        if run is None or run.owner != owner or run.kind != "response" or not _is_stored(run):
            text = f"This key has no response {response_id[:80]!r}."
            raise ApiError(404, text, "response_not_found", where)
        return run

    async def _start_run(
        self, request: Request, api_request: ApiRequest, data: dict[str, Any]
    ) -> tuple[ApiRun, dict[str, str]]:
        """Return the run of a request: a new one, or that of an earlier identical request."""
        who = identity(request)
        ignored = (
            {"X-Hookline-Ignored": ", ".join(api_request.ignored)} if api_request.ignored else {}
        )
        if api_request.model == "hookline-light":
            run = ApiRun(
                uuid4().hex, who.name, api_request.kind, "", _echo(api_request, store=False)
            )
            await light_model.begin(self.host, run, api_request)
            return run, ignored
        same = json.dumps([request.url.path, data], sort_keys=True)
        digest = hashlib.sha256(same.encode()).hexdigest()
        async with self._locks.setdefault(who.name, asyncio.Lock()):
            known = await self._find_repeated(request, who, digest)
            run = known or await self._create_run(request, who, api_request, digest)
            if run.end is None and run.inbound is None:
                # The message may be lost; core ignores it if it was stored.
                await self._submit(run, who, api_request)
        return run, {HEADER: run.session_id, "X-Request-Id": run.id, **ignored}

    async def _find_repeated(self, request: Request, who: Identity, digest: str) -> ApiRun | None:
        """Return the run of an earlier identical request, or None."""
        retry = _retry_key(request)
        if retry is not None:
            known = await self._runs.find_by_retry_key(who.name, retry)
            if known is None:
                return None
            if known[1] != digest:
                raise ApiError(
                    409,
                    "This Idempotency-Key was used for another request. Use a new one.",
                    "idempotency_key_reused",
                )
            return await self._unless_stopped(who, known[0], retry)
        count = request.headers.get("x-stainless-retry-count", "0")
        if not count.isdecimal() or not count.strip("0"):
            return None
        found = await self._runs.find_recent(who.name, digest)
        return await self._unless_stopped(who, found, None) if found is not None else None

    async def _unless_stopped(self, who: Identity, run_id: str, retry: str | None) -> ApiRun | None:
        """Return a run; None if it was stopped because its client disconnected."""
        run = await self._runs.load(run_id)
        if run is None or run.end is None or run.end["state"] != "cancelled":
            return run
        if retry is not None:
            await self._runs.forget_retry(who.name, retry)
        return None

    async def _create_run(
        self, request: Request, who: Identity, api_request: ApiRequest, digest: str
    ) -> ApiRun:
        previous = None
        if api_request.previous is not None:
            before = await self._find_response(
                who.name, api_request.previous, "previous_response_id"
            )
            previous = await self._sessions.after(who.name, before)
        found = await self._sessions.find(who.name, request.headers, api_request, previous)
        chain = extend_chain(api_request.head, "user", api_request.content)
        run = ApiRun(uuid4().hex, who.name, api_request.kind, found.id, _echo(api_request), chain)
        run.retry = _retry_key(request)
        if found.is_new:
            await self._sessions.import_history(who.name, found, api_request.history)
        await self._submit(run, who, api_request, digest)
        return run

    async def _submit(
        self, run: ApiRun, who: Identity, api_request: ApiRequest, digest: str = ""
    ) -> None:
        """Pass the message to core, which stores it.

        For a stream that happens when the stream starts, so that a refused stream has no effect.
        """
        attachments = await self.files.save(api_request.content)
        run.inbound = Inbound(
            CHANNEL,
            who.name,
            who.name,
            run.id,
            api_request.content.text,
            attachments,
            received=self.host.now(),
            session_id=run.session_id,
            system=api_request.system or None,
            private=True,
        )
        if digest:
            await self._runs.add(run, digest)
        run.is_held = api_request.stream
        if not run.is_held:
            await self.host.receive(run.inbound)

    async def _stream_events(
        self,
        run: ApiRun,
        first: Any,
        render: Callable[[LogEntry], Iterator[Any]],
        *,
        named: bool,
        watches: bool = False,
    ) -> AsyncIterator[bytes]:
        """Yield a run as server-sent events, with comments while there are none.

        A client that only ``watches`` does not stop the turn by disconnecting.
        """
        run.followers += 1
        try:
            if run.is_held and run.inbound is not None:
                run.is_held = False
                # Shielded: cancelling it halfway would block the message for long.
                receiving = self.host.spawn(self.host.receive(run.inbound), "receive")
                await asyncio.shield(receiving)
            yield b"".join([_event(one, named) for one in first]) or KEEPALIVE
            async for entries in run.follow(KEEPALIVE_INTERVAL):
                pieces = [_event(one, named) for entry in entries for one in render(entry)]
                yield b"".join(pieces) or KEEPALIVE
        finally:
            run.followers -= 1
            if not watches and not run.request.get("background") and run.session_id:
                self._runs.follower_left(run)


async def read_body(request: Request) -> dict[str, Any]:
    """Return the JSON object of a request. Raises ``ApiError`` (400, 415)."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise ApiError(
            415, "Send the request with Content-Type: application/json.", "unsupported_media_type"
        )
    return await parse_off_loop(read_json, await request.body())


def _retry_key(request: Request) -> str | None:
    key = request.headers.get("idempotency-key")
    if key is None:
        return None
    if not 0 < len(key) <= MAX_IDEMPOTENCY_KEY_CHARS:
        raise invalid_request(
            f"Idempotency-Key must have 1 to {MAX_IDEMPOTENCY_KEY_CHARS} characters.",
            "Idempotency-Key",
        )
    return hashlib.sha256(key.encode()).hexdigest()


def _echo(api_request: ApiRequest, store: bool | None = None) -> dict[str, Any]:
    """Return what is stored of a request."""
    kept = {
        "model": api_request.model,
        "stream": api_request.stream,
        "system": api_request.system,
        **api_request.echo,
    }
    if api_request.kind == "response":
        kept |= {"store": api_request.store if store is None else store}
        kept |= {"background": api_request.background, "input": api_request.content.text[:100_000]}
    return kept


def _is_stored(run: ApiRun) -> bool:
    return bool(run.request.get("store", True))


def _event(data: Mapping[str, Any], named: bool) -> bytes:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    name = f"event: {data['type']}\n" if named else ""
    return f"{name}data: {text}\n\n".encode("utf-8", "replace")


def _stream(pieces: AsyncIterator[bytes], headers: Mapping[str, str]) -> Response:
    own = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no", **headers}
    return StreamingResponse(pieces, headers=own, media_type="text/event-stream")


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": MODELS_CREATED, "owned_by": "hookline"}


UNSUPPORTED_PATHS = {
    "/v1/embeddings": "Embeddings are not supported; request them from the model's server.",
    "/v1/files": "The files API is not supported; send a file's content in the message.",
    "/v1/images": "The images API is not supported; ask the agent for an image in a conversation.",
    "/v1/completions": "Use /v1/chat/completions or /v1/responses.",
    "/v1/conversations": "Send `conversation` with a name to /v1/responses; no call creates it.",
    "/v1/assistants": "Use /v1/responses.",
    "/v1/threads": "Use /v1/responses.",
    "/v1/fine_tuning": "Fine-tuning is not supported.",
    "/v1/batches": "Batches are not supported.",
    "/v1/moderations": "Moderations are not supported.",
    "/v1/audio": "Only /v1/audio/transcriptions and /v1/audio/speech are supported.",
}
