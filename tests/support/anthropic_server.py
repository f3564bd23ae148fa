"""A Messages API on the loopback: answers from a script, refuses what the real one refuses.

``with AnthropicServer(["hello"]) as server:`` serves on ``server.base_url`` from a thread. Every
request that reaches it is kept in ``server.requests``. It refuses malformed requests with the real
status and error body, and it models the prompt cache: an entry for each marked prefix of 1,024
tokens or more (characters / 4), found again with a look-back of 20 blocks, forgotten after 5
minutes or an hour of ``server.clock``.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import itertools
import json
import re
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

LOOK_BACK = 20
SMALLEST_PREFIX = 1024
LIFETIMES = {"5m": 300.0, "1h": 3600.0}
_SECRET = b"the fake's own seal"
_ID = re.compile(r"[a-zA-Z0-9_-]+")
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_PIECES = re.compile(r"\s*\S+\s*|\s+")
# One encoder for all blocks: json.dumps makes a new one at each call that is not plain.
_encode = json.JSONEncoder(ensure_ascii=False).encode


@dataclass(frozen=True)
class Use:
    """A tool call in a reply. ``raw`` is sent in place of the encoded ``input``."""

    name: str
    input: Mapping[str, Any] = field(default_factory=dict)
    id: str | None = None
    raw: str | None = None


@dataclass(frozen=True)
class Reply:
    """One answer. ``thinking`` and ``redacted`` come first, then ``text``, ``tools``, ``blocks``.

    ``status`` other than 200 answers with ``error`` ``(type, message)`` or with ``body`` as it is.
    ``fail`` sends an error event after the content, ``cut`` breaks the connection there, ``ends``
    set to False ends the stream without its last two events. ``events`` replaces the stream by
    raw ``(event, data)`` pairs. ``delay`` and ``pause`` (between events) are in seconds.
    """

    text: str = ""
    thinking: str | None = None
    redacted: str | None = None
    tools: tuple[Use, ...] = ()
    blocks: tuple[Mapping[str, Any], ...] = ()
    stop: str | None = None
    usage: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200
    error: tuple[str, str] | None = None
    body: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    pause: float = 0.0
    fail: tuple[str, str] | None = None
    cut: bool = False
    ends: bool = True
    events: tuple[tuple[str, str], ...] | None = None


Scripted: TypeAlias = Reply | str
Script: TypeAlias = Iterable[Scripted] | Callable[[dict[str, Any]], Scripted]


@dataclass(frozen=True)
class Recorded:
    """A request as it came: ``headers`` with lower-case names; ``json`` is None if it is none."""

    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes
    json: Any
    usage: dict[str, Any] = field(default_factory=dict)


class Refusal(Exception):
    """A request that the API does not accept."""

    def __init__(
        self, message: str, status: int = 400, kind: str = "invalid_request_error"
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.kind = kind


class AnthropicServer:
    """The server; a context manager. ``key`` is the only key accepted, any if it is None."""

    def __init__(self, script: Script = (), *, key: str | None = None) -> None:
        self.requests: list[Recorded] = []
        self.key = key
        self.clock = time.time()
        self.cache = PromptCache()
        self._script = script if callable(script) else iter(script)
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    @property
    def base_url(self) -> str:
        """What a client is given as base URL, once the server is entered."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The JSON of the requests so far."""
        return [request.json for request in self.requests]

    def advance(self, seconds: float) -> None:
        """Let time pass for the cache."""
        self.clock += seconds

    def __enter__(self) -> AnthropicServer:
        self._server = _Tcp(("127.0.0.1", 0), _Connection)
        self._server.owner = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.hang_up()
        self._server.server_close()
        self._thread.join()

    def answer(
        self, method: str, path: str, headers: Mapping[str, str], raw: bytes
    ) -> tuple[Reply, dict[str, Any], dict[str, Any]]:
        """The reply to a request, with its body and the usage that goes with it."""
        with self._lock:
            request = _parsed(raw)
            record = Recorded(method, path, headers, raw, request)
            self.requests.append(record)
            try:
                check_headers(method, path, headers, self.key)
                check_body(request)
                usage = self.cache.use(request, self.clock)
                record.usage.update(usage)
                reply = self._next(request)
            except Refusal as refusal:
                reply = Reply(status=refusal.status, error=(refusal.kind, refusal.message))
                return reply, {}, {}
            return reply, request, usage | dict(reply.usage)

    def _next(self, request: dict[str, Any]) -> Reply:
        if callable(self._script):
            reply = self._script(request)
        else:
            try:
                reply = next(self._script)
            except StopIteration:
                raise Refusal("the fake server's script has no reply left") from None
        return Reply(reply) if isinstance(reply, str) else reply

    def number(self) -> int:
        """A number for the next id."""
        return next(self._numbers)


def _parsed(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return None


# --- what is refused ---------------------------------------------------------------------------

_TOP = {
    *("model", "max_tokens", "messages", "system", "tools", "tool_choice", "stream", "thinking"),
    *("output_config", "metadata", "stop_sequences", "service_tier", "container", "cache_control"),
    *("inference_geo", "diagnostics", "speed"),
}
_BLOCKS: dict[str, set[str]] = {
    "text": {"text", "cache_control", "citations"},
    "image": {"source", "cache_control"},
    "document": {"source", "title", "context", "citations", "cache_control"},
    "tool_use": {"id", "name", "input", "cache_control", "caller", "toolset_name"},
    "tool_result": {"tool_use_id", "content", "is_error", "cache_control", "toolset_name"},
    "thinking": {"thinking", "signature"},
    "redacted_thinking": {"data"},
}
_TOOL = {"name", "description", "input_schema", "cache_control", "type", "strict"}


def check_headers(method: str, path: str, headers: Mapping[str, str], key: str | None) -> None:
    """Refuse what is not a signed request to the one endpoint."""
    if (method, path.partition("?")[0]) != ("POST", "/v1/messages"):
        raise Refusal("Not Found", 404, "not_found_error")
    scheme, _, token = headers.get("authorization", "").partition(" ")
    given = headers.get("x-api-key") or (token if scheme.lower() == "bearer" else "")
    if not given:
        raise Refusal("x-api-key header is required", 401, "authentication_error")
    if key is not None and given != key:
        raise Refusal("invalid x-api-key", 401, "authentication_error")
    if not headers.get("anthropic-version"):
        raise Refusal("anthropic-version: header is required")


def check_body(body: Any) -> None:
    """Refuse what the API refuses in a body."""
    if not isinstance(body, dict):
        raise Refusal("The request body is not valid JSON")
    _no_extra(body, _TOP, "")
    for name in ("model", "max_tokens", "messages"):
        if name not in body:
            raise Refusal(f"{name}: Field required")
    if not isinstance(body["max_tokens"], int) or body["max_tokens"] < 1:
        raise Refusal("max_tokens: Input should be greater than or equal to 1")
    _check_tools(body)
    _check_system(body)
    _check_messages(body["messages"])
    _check_pairs(body["messages"])
    _check_thinking(body)
    _check_markers(body)


def _no_extra(data: Mapping[str, Any], allowed: set[str], where: str) -> None:
    for name in data:
        if name not in allowed:
            raise Refusal(f"{where}{name}: Extra inputs are not permitted")


def _check_tools(body: Mapping[str, Any]) -> None:
    tools = body.get("tools", [])
    if "tool_choice" in body and not tools:
        raise Refusal("tool_choice: tool_choice may only be specified while providing tools")
    for number, tool in enumerate(tools):
        where = f"tools.{number}.custom."
        _no_extra(tool, _TOOL, where)
        if not _TOOL_NAME.fullmatch(tool.get("name", "")):
            raise Refusal(f"{where}name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
        schema = tool.get("input_schema")
        if not isinstance(schema, dict):
            raise Refusal(f"{where}input_schema: Field required")
        if schema.get("type") != "object":
            raise Refusal(f"{where}input_schema.type: Input should be 'object'")
        if {"oneOf", "allOf", "anyOf"} & set(schema):
            raise Refusal(
                f"{where}input_schema: does not support oneOf, allOf, or anyOf at the top level"
            )
    if len({tool["name"] for tool in tools}) != len(tools):
        raise Refusal("tools: Tool names must be unique.")


def _check_system(body: Mapping[str, Any]) -> None:
    system = body.get("system", [])
    blocks = [{"type": "text", "text": system}] if isinstance(system, str) else system
    for number, block in enumerate(blocks):
        if block.get("type") != "text":
            raise Refusal(f"system.{number}.type: Input should be 'text'")
        _check_block(block, f"system.{number}.", "system")


def _check_messages(messages: Any) -> None:
    if not isinstance(messages, list) or not messages:
        raise Refusal("messages: at least one message is required")
    if messages[0].get("role") != "user":
        raise Refusal('messages: first message must use the "user" role')
    for number, message in enumerate(messages):
        where = f"messages.{number}."
        _no_extra(message, {"role", "content"}, where)
        if message.get("role") not in ("user", "assistant"):
            raise Refusal(f"{where}role: Input should be 'user' or 'assistant'")
        last = number == len(messages) - 1
        if not message.get("content") and not (last and message["role"] == "assistant"):
            raise Refusal(
                f"{where[:-1]}: all messages must have non-empty content except for the optional"
                " final assistant message"
            )
        blocks = _content(message)
        for index, block in enumerate(blocks):
            _check_block(block, f"{where}content.{index}.", "messages")
        if message["role"] == "assistant" and blocks:
            _check_end(blocks[-1], where, last)


def _check_end(block: Mapping[str, Any], where: str, last: bool) -> None:
    if block["type"] in ("thinking", "redacted_thinking"):
        raise Refusal(
            f"{where[:-1]}: The final block in an assistant message cannot be `thinking`."
        )
    text = block.get("text", "")
    if last and text != text.rstrip():
        raise Refusal("messages: final assistant content cannot end with trailing whitespace")


def _content(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content") or []
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _check_block(block: Mapping[str, Any], where: str, part: str) -> None:
    kind = block.get("type")
    if kind not in _BLOCKS:
        raise Refusal(
            f"{where[:-1]}: Input tag '{kind}' found using 'type' does not match any of the"
            f" expected tags: {', '.join(_BLOCKS)}"
        )
    _no_extra(block, _BLOCKS[kind] | {"type"}, f"{where}{kind}.")
    match kind:
        case "text":
            _check_text(block, where, part)
        case "thinking" if block.get("signature") != seal(block.get("thinking", "")):
            raise Refusal(f"{where[:-1]}: Invalid `signature` in `thinking` block")
        case "redacted_thinking" if not _is_sealed(block.get("data", "")):
            raise Refusal(f"{where[:-1]}: Invalid `data` in `redacted_thinking` block")
        case "tool_use":
            _check_use(block, where)
        case "tool_result":
            _check_result(block, where)
        case "image":
            _check_image(block, where)


def _check_text(block: Mapping[str, Any], where: str, part: str) -> None:
    if not block.get("text"):
        if "cache_control" in block:
            raise Refusal(
                f"{where}cache_control: cache_control cannot be set for empty text blocks"
            )
        raise Refusal(f"{part}: text content blocks must be non-empty")
    if not block["text"].strip():
        raise Refusal(f"{part}: text content blocks must contain non-whitespace text")


def _check_use(block: Mapping[str, Any], where: str) -> None:
    if not _ID.fullmatch(block.get("id", "")):
        raise Refusal(f"{where}tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
    if not _TOOL_NAME.fullmatch(block.get("name", "")):
        raise Refusal(
            f"{where}tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
        )
    if not isinstance(block.get("input"), dict):
        raise Refusal(f"{where}tool_use.input: Input should be a valid dictionary")


def _check_result(block: Mapping[str, Any], where: str) -> None:
    if not _ID.fullmatch(block.get("tool_use_id", "")):
        raise Refusal(
            f"{where}tool_result.tool_use_id: String should match pattern '^[a-zA-Z0-9_-]+$'"
        )
    content = block.get("content")
    if block.get("is_error") and not content:
        raise Refusal(f"{where[:-1]}: content cannot be empty if `is_error` is true")
    for index, part in enumerate(content if isinstance(content, list) else []):
        if block.get("is_error") and part.get("type") != "text":
            raise Refusal(f"{where[:-1]}: all content must be type `text` if `is_error` is true")
        _check_block(part, f"{where}tool_result.content.{index}.", "messages")


def _check_image(block: Mapping[str, Any], where: str) -> None:
    source = block.get("source", {})
    kinds = ("image/jpeg", "image/png", "image/gif", "image/webp")
    if source.get("type") == "base64" and source.get("media_type") not in kinds:
        raise Refusal(
            f"{where}image.source.base64.media_type: Input should be {', '.join(map(repr, kinds))}"
        )


def _check_pairs(messages: list[dict[str, Any]]) -> None:
    seen: set[str] = set()
    open_calls: list[str] = []
    at = 0
    for number, blocks in _turns(messages):
        results = list(itertools.takewhile(lambda b: b["type"] == "tool_result", blocks))
        answered = [block["tool_use_id"] for block in results]
        missing = [call for call in open_calls if call not in answered]
        if missing:
            raise _unanswered(at, missing)
        for index, block in enumerate(blocks):
            if block["type"] == "tool_result" and block["tool_use_id"] not in open_calls:
                raise Refusal(
                    f"messages.{number}.content.{index}: unexpected `tool_use_id` found in"
                    f" `tool_result` blocks: {block['tool_use_id']}. Each `tool_result` block must"
                    " have a corresponding `tool_use` block in the previous message."
                )
        open_calls, at = [b["id"] for b in blocks if b["type"] == "tool_use"], number
        for call in open_calls:
            if call in seen:
                raise Refusal(f"messages.{number}: `tool_use` ids must be unique")
            seen.add(call)
    if open_calls:
        raise _unanswered(at, open_calls)


def _unanswered(number: int, calls: list[str]) -> Refusal:
    return Refusal(
        f"messages.{number}: `tool_use` ids were found without `tool_result` blocks immediately"
        f" after: {', '.join(calls)}. Each `tool_use` block must have a corresponding"
        " `tool_result` block in the next message."
    )


def _turns(messages: list[dict[str, Any]]) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    # Neighbours of one role are one turn to the API.
    numbered = enumerate(messages)
    for _, group in itertools.groupby(numbered, key=lambda pair: pair[1]["role"]):
        turn = list(group)
        yield turn[0][0], [block for _, message in turn for block in _content(message)]


def _check_thinking(body: Mapping[str, Any]) -> None:
    thinking = body.get("thinking", {})
    if thinking.get("type") != "enabled":
        return
    if thinking.get("budget_tokens", 0) < 1024:
        raise Refusal("thinking.enabled.budget_tokens: Input should be at least 1024")
    if thinking["budget_tokens"] >= body["max_tokens"]:
        raise Refusal("`max_tokens` must be greater than `thinking.budget_tokens`.")
    turns = [blocks for _, blocks in _turns(body["messages"])]
    if len(turns) > 1 and any(block["type"] == "tool_result" for block in turns[-1]):
        first = turns[-2][0]["type"]
        if first not in ("thinking", "redacted_thinking"):
            raise Refusal(
                f"Expected `thinking` or `redacted_thinking`, but found `{first}`. When `thinking`"
                " is enabled, a final `assistant` message must start with a thinking block."
            )


def _check_markers(body: Mapping[str, Any]) -> None:
    ttls = [(where, block["cache_control"]) for where, block in all_blocks(body) if _marked(block)]
    if len(ttls) > 4:
        raise Refusal(
            f"A maximum of 4 blocks with cache_control may be provided. Found {len(ttls)}."
        )
    short = False
    for where, control in ttls:
        _no_extra(control, {"type", "ttl"}, f"{where}.cache_control.")
        ttl = control.get("ttl", "5m")
        if control.get("type") != "ephemeral" or ttl not in LIFETIMES:
            raise Refusal(f"{where}.cache_control: Input should be 'ephemeral' with ttl 5m or 1h")
        if ttl == "1h" and short:
            raise Refusal(
                f"{where}.cache_control.ttl: a ttl='1h' cache_control block must not come after a"
                " ttl='5m' cache_control block. Note that blocks are processed in the following"
                " order: `tools`, `system`, `messages`."
            )
        short = short or ttl == "5m"


def _marked(block: Mapping[str, Any]) -> bool:
    return block.get("cache_control") is not None


def all_blocks(body: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every block with its path, in the order in which the cache sees them."""
    for number, tool in enumerate(body.get("tools", [])):
        yield f"tools.{number}", tool
    system = body.get("system", [])
    for number, block in enumerate(
        [{"type": "text", "text": system}] if isinstance(system, str) else system
    ):
        yield f"system.{number}", block
    for number, message in enumerate(body["messages"]):
        for index, block in enumerate(_content(message)):
            yield f"messages.{number}.content.{index}", block


def seal(text: str) -> str:
    """The signature that the fake puts on thinking."""
    return "sig_" + hmac.new(_SECRET, text.encode(), hashlib.sha256).hexdigest()


def _is_sealed(data: str) -> bool:
    text, _, signature = data.rpartition("|")
    return signature == seal(text)


# --- the cache ---------------------------------------------------------------------------------


class PromptCache:
    """Prefixes that were written, with the time at which each is forgotten."""

    def __init__(self) -> None:
        self._entries: dict[bytes, tuple[float, str]] = {}

    def use(self, body: Mapping[str, Any], now: float) -> dict[str, Any]:
        """What a request reads and writes, as the API reports it."""
        prefixes, marks = _prefixes(body)
        total = prefixes[-1][1] // 4
        read = 0
        for index in marks:
            read = max(read, self._longest(prefixes, index, now))
        written = {"5m": 0, "1h": 0}
        done = read
        for index, ttl in marks.items():
            digest, characters = prefixes[index]
            if characters // 4 < SMALLEST_PREFIX:
                continue
            self._entries[digest] = (now + LIFETIMES[ttl], ttl)
            written[ttl] += max(0, characters // 4 - done)
            done = max(done, characters // 4)
        return {
            "input_tokens": total - done,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": sum(written.values()),
            "cache_creation": {
                "ephemeral_5m_input_tokens": written["5m"],
                "ephemeral_1h_input_tokens": written["1h"],
            },
        }

    def _longest(self, prefixes: list[tuple[bytes, int]], index: int, now: float) -> int:
        for at in range(index, max(-1, index - LOOK_BACK - 1), -1):
            digest, characters = prefixes[at]
            ends, ttl = self._entries.get(digest, (0.0, "5m"))
            if ends > now:
                # Reading an entry makes it live on.
                self._entries[digest] = (now + LIFETIMES[ttl], ttl)
                return characters // 4
        return 0


def _prefixes(body: Mapping[str, Any]) -> tuple[list[tuple[bytes, int]], dict[int, str]]:
    """Digest and characters of the prefix up to each block, and the marks by block."""
    running = hashlib.sha256(str(body["model"]).encode())
    settings = json.dumps([body.get("tool_choice"), body.get("thinking")])
    prefixes: list[tuple[bytes, int]] = []
    marks: dict[int, str] = {}
    characters = 0
    path = ""
    for where, block in all_blocks(body):
        message = where.rpartition(".content.")[0]
        if message != path:
            path = message
            role = body["messages"][int(path.split(".")[1])]["role"]
            # What is said about tools and thinking breaks the messages' cache, not the rest.
            running.update((settings + role).encode())
        if _marked(block):
            marks[len(prefixes)] = block["cache_control"].get("ttl", "5m")
            block = {key: value for key, value in block.items() if key != "cache_control"}
        text = _encode(block)
        running.update(text.encode("utf-8", "replace"))
        characters += len(text)
        prefixes.append((running.digest(), characters))
    return prefixes, marks


# --- how an answer looks -----------------------------------------------------------------------


def message_of(
    reply: Reply, request: Mapping[str, Any], usage: Mapping[str, Any], number: int
) -> dict[str, Any]:
    """A reply as a whole message. A tool call's raw input stays under the key ``raw``."""
    content: list[dict[str, Any]] = []
    if reply.thinking is not None:
        sealed = {"thinking": reply.thinking, "signature": seal(reply.thinking)}
        content.append({"type": "thinking"} | sealed)
    if reply.redacted is not None:
        data = f"{reply.redacted}|{seal(reply.redacted)}"
        content.append({"type": "redacted_thinking", "data": data})
    if reply.text:
        content.append({"type": "text", "text": reply.text})
    for index, use in enumerate(reply.tools):
        call_id = f"toolu_{number:04}{index:02}" if use.id is None else use.id
        block = {"type": "tool_use", "id": call_id, "name": use.name, "input": dict(use.input)}
        content.append(block | ({"raw": use.raw} if use.raw is not None else {}))
    content += [dict(block) for block in reply.blocks]
    characters = len(json.dumps(content, ensure_ascii=False))
    return {
        "id": f"msg_{number:06}",
        "type": "message",
        "role": "assistant",
        "model": request.get("model"),
        "content": content,
        "stop_reason": reply.stop or ("tool_use" if reply.tools else "end_turn"),
        "stop_sequence": None,
        "usage": {"output_tokens": characters // 4 + 1} | dict(usage),
    }


def events_of(reply: Reply, message: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """A message as the events of a stream."""
    if reply.events is not None:
        yield from reply.events
        return
    usage = message["usage"]
    start = message | {"content": [], "stop_reason": None, "usage": usage | {"output_tokens": 1}}
    yield _event("message_start", message=start)
    yield _event("ping")
    for index, block in enumerate(message["content"]):
        empty, deltas = _opened(block)
        yield _event("content_block_start", index=index, content_block=empty)
        for delta in deltas:
            yield _event("content_block_delta", index=index, delta=delta)
        if not reply.cut and not reply.fail:
            yield _event("content_block_stop", index=index)
    if reply.fail:
        kind, text = reply.fail
        yield _event("error", error={"type": kind, "message": text})
    elif reply.ends and not reply.cut:
        delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        yield _event("message_delta", delta=delta, usage={"output_tokens": usage["output_tokens"]})
        yield _event("message_stop")


def _event(kind: str, **data: Any) -> tuple[str, str]:
    return kind, json.dumps({"type": kind} | data, ensure_ascii=False)


def _opened(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    match block["type"]:
        case "text":
            pieces = [{"type": "text_delta", "text": t} for t in _PIECES.findall(block["text"])]
            return block | {"text": ""}, pieces
        case "thinking":
            said = [
                {"type": "thinking_delta", "thinking": t}
                for t in _PIECES.findall(block["thinking"])
            ]
            signed = {"type": "signature_delta", "signature": block["signature"]}
            return block | {"thinking": "", "signature": ""}, [*said, signed]
        case "tool_use":
            text = block.get("raw", json.dumps(block["input"], ensure_ascii=False))
            halves = (text[: len(text) // 2], text[len(text) // 2 :])
            pieces = [{"type": "input_json_delta", "partial_json": half} for half in halves]
            shown = {key: value for key, value in block.items() if key != "raw"}
            # The API sends no JSON at all for a call without arguments.
            return shown | {"input": {}}, [] if text == "{}" else pieces
        case _:
            return block, []


# --- the server --------------------------------------------------------------------------------


class _Tcp(socketserver.ThreadingTCPServer):
    daemon_threads = False
    allow_reuse_address = True
    request_queue_size = 512
    owner: AnthropicServer

    def __init__(self, *args: Any) -> None:
        self.open: set[socket.socket] = set()
        super().__init__(*args)

    def hang_up(self) -> None:
        """End the connections that clients keep alive, so that their threads end."""
        for connection in list(self.open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue


class _Connection(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True
    server: _Tcp

    def setup(self) -> None:
        super().setup()
        self.server.open.add(self.request)

    def finish(self) -> None:
        self.server.open.discard(self.request)
        with contextlib.suppress(OSError):
            super().finish()

    def handle(self) -> None:
        try:
            while self._one():
                pass
        except OSError:
            # The client has gone; that is its right.
            pass

    def _one(self) -> bool:
        line = self.rfile.readline().decode("latin-1").split()
        if len(line) != 3:
            return False
        headers: dict[str, str] = {}
        while (header := self.rfile.readline().strip()) != b"":
            name, _, value = header.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        raw = self.rfile.read(int(headers.get("content-length", 0)))
        owner = self.server.owner
        reply, request, usage = owner.answer(line[0], line[1], headers, raw)
        time.sleep(reply.delay)
        if reply.status != 200 or reply.body is not None:
            return self._send_error(reply)
        message = message_of(reply, request, usage, owner.number())
        return (
            self._stream(reply, message) if request.get("stream") else self._whole(reply, message)
        )

    def _send_error(self, reply: Reply) -> bool:
        kind, text = reply.error or ("api_error", "Internal server error")
        error = {"type": "error", "error": {"type": kind, "message": text}, "request_id": "req_1"}
        body = reply.body if reply.body is not None else json.dumps(error)
        content_type = "text/html" if body.startswith("<") else "application/json"
        return self._send(reply, body.encode(), content_type)

    def _whole(self, reply: Reply, message: dict[str, Any]) -> bool:
        for block in message["content"]:
            block.pop("raw", None)
        if not reply.ends:
            message["stop_reason"] = None
        return self._send(
            reply, json.dumps(message, ensure_ascii=False).encode(), "application/json"
        )

    def _send(self, reply: Reply, body: bytes, content_type: str) -> bool:
        head = self._head(reply, content_type, f"Content-Length: {len(body)}")
        self.wfile.write(head + (body[: len(body) // 2] if reply.cut else body))
        return not reply.cut

    def _stream(self, reply: Reply, message: dict[str, Any]) -> bool:
        head = self._head(reply, "text/event-stream; charset=utf-8", "Transfer-Encoding: chunked")
        chunks = [
            f"event: {kind}\ndata: {data}\n\n".encode() for kind, data in events_of(reply, message)
        ]
        framed = [b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks]
        if reply.pause:
            self.wfile.write(head)
            for chunk in framed:
                self.wfile.write(chunk)
                time.sleep(reply.pause)
        else:
            self.wfile.write(head + b"".join(framed))
        if reply.cut:
            # Without the last chunk the client sees the connection break, not the stream end.
            return False
        self.wfile.write(b"0\r\n\r\n")
        return True

    def _head(self, reply: Reply, content_type: str, framing: str) -> bytes:
        given = {"Content-Type": content_type, "request-id": "req_1"} | dict(reply.headers)
        lines = [f"HTTP/1.1 {reply.status} X", framing, *(f"{k}: {v}" for k, v in given.items())]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
