"""A loopback server that speaks OpenAI's wire and refuses what the real service refuses.

``/v1/chat/completions`` and ``/v1/responses`` (streamed and not) and ``/v1/models``::

    with OpenAIServer(["hello", Reply(tools=[Use("read_file", {"path": "a"})])]) as server:
        OpenAI(base_url=server.base_url, api_key="test")
        server.requests[0].json["messages"]

It runs in a thread of its own, keeps connections alive, and counts prompt tokens as characters
/ 4 and cached tokens by the identical prefix of earlier prompts, as the real one does.
``python -m support.openai_server PORT`` runs it alone; it then answers ``ok`` to everything.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, TypeAlias

from .openai_rules import Refusal, check_chat, check_headers, check_responses, read_json

CREATED = 1_700_000_000
CHARS_PER_TOKEN = 4
CACHE_STEP = 128
"""Tokens: a cached prefix is a multiple of this."""
CACHE_MINIMUM = 1024
"""Tokens: a shorter prefix is not cached."""


@dataclass(frozen=True)
class Use:
    """A tool call of a reply. ``arguments`` as text is sent as it is, whatever it holds."""

    name: str | None
    arguments: Any = field(default_factory=dict)
    id: str | None = ""
    """Empty makes one; None leaves it out."""

    @property
    def text(self) -> str:
        """The arguments as the wire's string."""
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


@dataclass(frozen=True)
class Reply:
    """What the server answers to one request.

    ``status`` from 400 sends ``body`` (a dict as JSON, a string as it is); below 400 ``body``,
    if given, replaces the answer as well. ``delay`` (s) comes before the answer, ``pace`` (s)
    before each streamed event. ``cut_after`` breaks the connection after so many events.
    ``chunks`` replaces the streamed events: dicts are sent as data, strings as they are; the
    stream then ends without a ``[DONE]`` of its own.
    """

    text: str | None = None
    tools: Sequence[Use] = ()
    reasoning: str = ""
    refusal: str | None = None
    finish: str | None = ""
    usage: Mapping[str, Any] | None = field(default_factory=dict)
    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    pace: float = 0.0
    cut_after: int | None = None
    chunks: Sequence[Any] | None = None
    piece: int = 20
    """Characters in a streamed piece."""

    @property
    def finish_reason(self) -> str | None:
        """``finish``, or what the real service would say."""
        if self.finish != "":
            return self.finish
        return "tool_calls" if self.tools else "stop"


@dataclass
class Request:
    """A request as it was received; header names are in lower case, ``time`` is monotonic."""

    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes
    json: Any
    time: float


Script: TypeAlias = Sequence[Reply | str] | Callable[[Any], Reply | str]


class OpenAIServer:
    """The server, started and stopped as a context manager.

    ``script`` is a list of replies, one for each valid request, or a function of the request's
    JSON. ``window`` (tokens) refuses longer prompts; ``models`` refuses others by name.
    ``extensions`` are fields of messages and calls that other servers know and OpenAI refuses.
    """

    def __init__(
        self,
        script: Script = (),
        *,
        window: int | None = None,
        extensions: Collection[str] = (),
        models: Sequence[str] = (),
        port: int = 0,
    ) -> None:
        self.requests: list[Request] = []
        self.port = port
        self._script = script
        self._next = 0
        self._window = window
        self._extensions = frozenset(extensions)
        self._models = models
        self._cache = PrefixCache()
        self._numbers = itertools.count(1)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._connections: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    @property
    def base_url(self) -> str:
        """What a client is given as its base URL."""
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> OpenAIServer:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result()
        return self

    def __exit__(self, *exc: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _start(self) -> None:
        self._server = await asyncio.start_server(
            self._connected, "127.0.0.1", self.port, limit=2**20
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def _stop(self) -> None:
        assert self._server is not None
        for listener in self._server.sockets:
            self._loop.remove_reader(listener)
        # What is being accepted fails on a closed server, and leaves its connection open.
        await asyncio.sleep(0)
        self._server.close()
        quiet_steps = 0
        while quiet_steps < 5:  # a connection that is being accepted is now a task, now a callback
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            await asyncio.sleep(0)  # a task that has not begun would not close its connection
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            quiet_steps = 0 if tasks else quiet_steps + 1

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            while request := await _read_request(reader):
                if not await self._serve(request, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._connections.discard(task)
            writer.transport.abort()

    async def _serve(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        """Answer one request. False: the connection is to be broken."""
        if request.headers.get("user-agent") == "hookline-window":
            # Asked beside a chat, at any time: not among the requests, which tests count.
            writer.write(_response(404, {"error": {"message": "not here"}}, {}))
            return True
        try:
            body = self._accepted(request)
        except Refusal as refusal:
            self.requests.append(request)
            writer.write(_response(refusal.status, refusal.body, refusal.headers))
            return True
        if body is None:
            names = self._models or ("fake",)
            models = [{"id": n, "object": "model", "created": CREATED} for n in names]
            writer.write(_response(200, {"object": "list", "data": models}, {}))
            return True
        reply = self._reply(body)
        await asyncio.sleep(reply.delay)
        return await self._answer(request, body, reply, writer)

    def _accepted(self, request: Request) -> dict[str, Any] | None:
        """The JSON of a valid request, None for the list of models. Records the request."""
        route = (request.method, request.path.partition("?")[0])
        if route == ("GET", "/v1/models"):
            check_headers(request.headers)
            self.requests.append(request)
            return None
        checks = {"/v1/chat/completions": check_chat, "/v1/responses": check_responses}
        if route[0] != "POST" or route[1] not in checks:
            raise Refusal(f"Invalid URL ({request.method} {request.path})", status=404)
        check_headers(request.headers)
        body = read_json(request.headers, request.raw)
        request.json = body
        checks[route[1]](_without(body, self._extensions) if self._extensions else body)
        if self._models and body["model"] not in self._models:
            raise Refusal(
                f"The model `{body['model']}` does not exist or you do not have access to it.",
                code="model_not_found",
                status=404,
            )
        self._fits(body)
        self.requests.append(request)
        return body

    def _fits(self, body: Mapping[str, Any]) -> None:
        tokens = len(prompt_of(body)) // CHARS_PER_TOKEN if self._window else 0
        if self._window and tokens > self._window:
            raise Refusal(
                f"This model's maximum context length is {self._window} tokens. However, your "
                f"messages resulted in {tokens} tokens. Please reduce the length of the messages.",
                param="messages",
                code="context_length_exceeded",
            )

    def _reply(self, body: Any) -> Reply:
        if callable(self._script):
            reply = self._script(body)
        elif self._next < len(self._script):
            reply = self._script[self._next]
            self._next += 1
        else:
            error = {"message": "the fake server's script has no reply left"}
            reply = Reply(status=400, body={"error": error})
        return Reply(reply) if isinstance(reply, str) else reply

    async def _answer(
        self, request: Request, body: Any, reply: Reply, writer: asyncio.StreamWriter
    ) -> bool:
        if reply.status >= 400 or reply.body is not None:
            writer.write(_response(reply.status, reply.body, reply.headers))
            return True
        number = next(self._numbers)
        usage = self._usage(body, reply)
        wire: Wire = ChatWire if "messages" in body else ResponsesWire
        answer = wire(number, body["model"], reply, usage)
        if not body.get("stream"):
            writer.write(_response(200, answer.whole(), reply.headers))
            return True
        options = body.get("stream_options") or {}
        events = reply.chunks
        if events is None:
            events = list(answer.events(bool(options.get("include_usage"))))
        return await _stream(events, reply, writer)

    def _usage(self, body: Any, reply: Reply) -> Usage:
        cached = self._cache.seen(body["model"], prompt := prompt_of(body))
        wrote = (reply.text or "") + "".join(use.text for use in reply.tools)
        return Usage(
            prompt=len(prompt) // CHARS_PER_TOKEN,
            cached=cached,
            output=max(1, (len(wrote) + len(reply.reasoning)) // CHARS_PER_TOKEN),
            reasoning=len(reply.reasoning) // CHARS_PER_TOKEN,
        )


@dataclass(frozen=True)
class Usage:
    """Tokens of one answer."""

    prompt: int
    cached: int
    output: int
    reasoning: int


class PrefixCache:
    """Remembers prompts as the real one does: in blocks of 128 tokens, each known by all that
    came before it."""

    def __init__(self) -> None:
        self._known: set[int] = set()

    def seen(self, model: str, prompt: str) -> int:
        """How many tokens of ``prompt`` were read before; remembers it."""
        size = CACHE_STEP * CHARS_PER_TOKEN
        chain, hits = hash(model), 0
        for start in range(0, len(prompt) - size + 1, size):
            chain = hash((chain, prompt[start : start + size]))
            if chain in self._known:
                hits += 1
            self._known.add(chain)
        return hits * CACHE_STEP if hits * CACHE_STEP >= CACHE_MINIMUM else 0


def prompt_of(body: Mapping[str, Any]) -> str:
    """What the model reads of a request, in its order: tools first, then the messages."""
    listed = body["messages"] if "messages" in body else body["input"]
    listed = [listed] if isinstance(listed, str) else listed
    parts = [json.dumps(body.get("tools", []), ensure_ascii=False)]
    parts += [json.dumps(part, ensure_ascii=False) for part in listed]
    return "\n".join(parts)


def _without(body: Any, names: Collection[str]) -> Any:
    """JSON without the fields ``names`` at any depth."""
    if isinstance(body, dict):
        return {key: _without(value, names) for key, value in body.items() if key not in names}
    return [_without(one, names) for one in body] if isinstance(body, list) else body


class ChatWire:
    """A reply as ``/chat/completions`` sends it."""

    def __init__(self, number: int, model: str, reply: Reply, usage: Usage) -> None:
        self._reply = reply
        self._head = {"id": f"chatcmpl-{number:08d}", "created": CREATED, "model": model}
        self._number = number
        self._usage = usage

    def whole(self) -> dict[str, Any]:
        """The answer in one piece."""
        reply = self._reply
        message: dict[str, Any] = {"role": "assistant", "content": reply.text}
        message["refusal"] = reply.refusal
        if reply.reasoning:
            message["reasoning_content"] = reply.reasoning
        if reply.tools:
            message["tool_calls"] = [self._call(i, use) for i, use in enumerate(reply.tools)]
        choice = {"index": 0, "message": message, "logprobs": None}
        choice["finish_reason"] = reply.finish_reason
        body = self._head | {"object": "chat.completion", "choices": [choice]}
        if reply.usage is not None:
            body["usage"] = self._counts()
        return body

    def events(self, include_usage: bool) -> Iterator[Any]:
        """The answer as streamed chunks."""
        reply = self._reply
        yield self._chunk({"role": "assistant", "content": "", "refusal": None})
        for piece in _pieces(reply.reasoning, reply.piece):
            yield self._chunk({"reasoning_content": piece})
        for piece in _pieces(reply.text or "", reply.piece):
            yield self._chunk({"content": piece})
        for piece in _pieces(reply.refusal or "", reply.piece):
            yield self._chunk({"refusal": piece})
        for index, use in enumerate(reply.tools):
            yield from self._call_chunks(index, use)
        if reply.finish_reason is not None:
            yield self._chunk({}, reply.finish_reason)
        if include_usage and reply.usage is not None:
            chunk = self._head | {"object": "chat.completion.chunk", "choices": []}
            yield chunk | {"usage": self._counts()}
        yield "data: [DONE]\n\n"

    def _call_chunks(self, index: int, use: Use) -> Iterator[dict[str, Any]]:
        call = {"index": index} | self._call(index, use)
        call["function"] = {"name": use.name, "arguments": ""}
        yield self._chunk({"tool_calls": [call]})
        for piece in _pieces(use.text, self._reply.piece):
            yield self._chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return self._head | {"object": "chat.completion.chunk", "choices": [choice]}

    def _call(self, index: int, use: Use) -> dict[str, Any]:
        call: dict[str, Any] = {"type": "function"}
        if use.id is not None:
            call["id"] = use.id or f"call_{self._number:08d}{index:04d}"
        call["function"] = {"name": use.name, "arguments": use.text}
        return call

    def _counts(self) -> Mapping[str, Any]:
        usage = self._usage
        return self._reply.usage or {
            "prompt_tokens": usage.prompt,
            "completion_tokens": usage.output,
            "total_tokens": usage.prompt + usage.output,
            "prompt_tokens_details": {"cached_tokens": usage.cached, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
        }


class ResponsesWire:
    """A reply as ``/responses`` sends it. ``finish`` is the reason of an incomplete one."""

    def __init__(self, number: int, model: str, reply: Reply, usage: Usage) -> None:
        self._reply = reply
        self._number = number
        self._usage = usage
        self._head = {"id": f"resp_{number:08d}", "object": "response", "created_at": CREATED}
        self._head |= {"model": model, "error": None, "incomplete_details": None}

    def whole(self) -> dict[str, Any]:
        """The answer in one piece."""
        body = self._head | {"status": "completed", "output": self._items()}
        if self._reply.finish:
            details = {"reason": self._reply.finish}
            body |= {"status": "incomplete", "incomplete_details": details}
        if self._reply.usage is not None:
            body["usage"] = self._counts()
        return body

    def events(self, _include_usage: bool) -> Iterator[Any]:
        """The answer as streamed events."""
        started = self._head | {"status": "in_progress", "output": []}
        number = itertools.count()
        yield _event("response.created", number, response=started)
        for index, item in enumerate(self._items()):
            empty = {k: v for k, v in item.items() if k not in ("content", "summary", "arguments")}
            yield _event("response.output_item.added", number, output_index=index, item=empty)
            for kind, piece in self._deltas(item):
                yield _event(kind, number, output_index=index, item_id=item["id"], delta=piece)
            yield _event("response.output_item.done", number, output_index=index, item=item)
        if self._reply.finish is not None:
            final = self.whole()
            yield _event(f"response.{final['status']}", number, response=final)

    def _deltas(self, item: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        kind, text = {
            "reasoning": ("reasoning_summary_text", self._reply.reasoning),
            "message": ("output_text", self._reply.text or ""),
            "function_call": ("function_call_arguments", item.get("arguments", "")),
        }[item["type"]]
        if item["type"] == "message" and self._reply.refusal:
            kind, text = "refusal", self._reply.refusal
        for piece in _pieces(text, self._reply.piece):
            yield f"response.{kind}.delta", piece

    def _items(self) -> list[dict[str, Any]]:
        reply = self._reply
        items: list[dict[str, Any]] = []
        if reply.reasoning:
            summary = [{"type": "summary_text", "text": reply.reasoning}]
            items.append({"type": "reasoning", "summary": summary})
        if reply.refusal:
            content = [{"type": "refusal", "refusal": reply.refusal}]
            items.append({"type": "message", "role": "assistant", "content": content})
        elif reply.text is not None:
            part = {"type": "output_text", "text": reply.text, "annotations": []}
            items.append({"type": "message", "role": "assistant", "content": [part]})
        for index, use in enumerate(reply.tools):
            call_id = use.id or f"call_{self._number:08d}{index:04d}"
            call = {"type": "function_call", "call_id": call_id, "name": use.name}
            items.append(call | {"arguments": use.text})
        return [{"id": f"item_{i:04d}"} | item for i, item in enumerate(items)]

    def _counts(self) -> Mapping[str, Any]:
        usage = self._usage
        return self._reply.usage or {
            "input_tokens": usage.prompt,
            "input_tokens_details": {"cached_tokens": usage.cached},
            "output_tokens": usage.output,
            "output_tokens_details": {"reasoning_tokens": usage.reasoning},
            "total_tokens": usage.prompt + usage.output,
        }


Wire: TypeAlias = type[ChatWire] | type[ResponsesWire]


def _event(kind: str, number: Iterator[int], **data: Any) -> str:
    body = json.dumps({"type": kind, "sequence_number": next(number)} | data, ensure_ascii=False)
    return f"event: {kind}\ndata: {body}\n\n"


def _pieces(text: str, size: int) -> Iterator[str]:
    return (text[start : start + size] for start in range(0, len(text), size))


async def _read_request(reader: asyncio.StreamReader) -> Request | None:
    """The next request of a connection, None at its end."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    raw = await reader.readexactly(int(headers.get("content-length", 0)))
    return Request(method, path, headers, raw, None, time.monotonic())


def _response(status: int, body: Any, headers: Mapping[str, str]) -> bytes:
    """A response in one piece: a string as HTML, bytes as they are, all else as JSON."""
    kind = "text/html" if isinstance(body, str) else "application/json"
    data: bytes = body if isinstance(body, bytes) else b""
    if isinstance(body, str):
        data = body.encode()
    elif not isinstance(body, bytes):
        data = json.dumps(body, ensure_ascii=False).encode()
    return _head(status, {"content-length": str(len(data)), "content-type": kind, **headers}) + data


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    phrase = HTTPStatus(status).phrase if status in {s.value for s in HTTPStatus} else "Unknown"
    lines = [f"HTTP/1.1 {status} {phrase}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


async def _stream(events: Sequence[Any], reply: Reply, writer: asyncio.StreamWriter) -> bool:
    """Send events as one HTTP chunk each. False: the connection is to be broken."""
    head = {"content-type": "text/event-stream; charset=utf-8", "transfer-encoding": "chunked"}
    writer.write(_head(reply.status, head | dict(reply.headers)))
    waiting = bytearray()
    for number, event in enumerate(events):
        if number == reply.cut_after:
            break
        waiting += _http_chunk(event)
        if reply.pace:
            await asyncio.sleep(reply.pace)
            writer.write(bytes(waiting))
            waiting.clear()
    if reply.cut_after is None:
        writer.write(bytes(waiting) + b"0\r\n\r\n")
        return True
    writer.write(bytes(waiting))
    await writer.drain()
    # Only an orderly end of the connection lets the client read what was sent before it.
    writer.write_eof()
    await asyncio.sleep(0.05)
    return False


def _http_chunk(event: Any) -> bytes:
    if not isinstance(event, str | bytes):
        event = f"data: {json.dumps(event, ensure_ascii=False)}\n\n"
    data = event.encode() if isinstance(event, str) else event
    return b"%x\r\n%b\r\n" % (len(data), data)


if __name__ == "__main__":
    with OpenAIServer(lambda _: "ok", port=int(sys.argv[1])) as alone:
        print(alone.base_url, flush=True)
        threading.Event().wait()
