"""Writes messages of servers as JSON-RPC has them; the SDK would refuse the whole message.

Servers leave ``jsonrpc`` out, send an error as a text, a list of one message, a byte order mark, or
JSON under another content type.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import AsyncIterator
from typing import Any

import httpx2
from mcp_types import INTERNAL_ERROR, jsonrpc_message_adapter

from .readable_json import readable_json

JSON_TYPE = b"application/json"
EVENTS_TYPE = b"text/event-stream"
MAX_EVENT_BYTES = 16_777_216
"""Bytes of one event of a stream."""
MAX_ERROR_CHARS = 300
"""Characters of a page or text that are quoted as the reason of an error."""
_WORDS = ("message", "error_description", "detail", "error", "title", "data", "text")
"""Where servers write the reason of an error."""


def readable_message(data: bytes) -> bytes:
    """Return a message that the SDK can read; ``data`` itself if it is no message."""
    data = readable_json(data)
    try:
        jsonrpc_message_adapter.validate_json(data, by_name=False)
        return data
    except (ValueError, RecursionError):
        pass
    found = _decoded(data)
    return json.dumps(_message(found)).encode() if _is_message(found) else data


def readable_body(data: bytes, kind: bytes) -> tuple[bytes, bytes]:
    """Return body and content type of an answer, as the SDK reads them."""
    found = _decoded(data)
    if isinstance(found, list) and found and all(map(_is_message, found)):
        events = (readable_message(json.dumps(one).encode()) for one in found)
        return b"".join(b"data: %s\n\n" % one for one in events), EVENTS_TYPE
    if _is_message(found):
        return readable_message(json.dumps(found).encode()), JSON_TYPE
    return (readable_json(data) if kind.startswith(JSON_TYPE) else data), kind


def error_body(request: bytes, status: int, data: bytes) -> bytes | None:
    """Return an error for ``request`` with the server's words; None if there are none.

    For an error status whose body is no message.
    """
    asked = _decoded(request)
    reason = _words(_decoded(data)) or _plain_text(data)
    if not isinstance(asked, dict) or asked.get("id") is None or not reason:
        return None
    error = {"code": INTERNAL_ERROR, "message": f"{reason} (status {status})"}
    return json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": error}).encode()


async def readable_events(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the lines of an event stream, the data of each event on one and readable.

    Lines may end in CR, LF or both, and the stream may begin with a byte order mark. Raises
    ``httpx2.SSEError`` for an event of more than :data:`MAX_EVENT_BYTES`.
    """
    data: list[bytes] = []
    size = 0
    is_first = True
    async for line in _lines(chunks):
        line, is_first = line.removeprefix(codecs.BOM_UTF8) if is_first else line, False
        name, _, value = line.partition(b":")
        if name == b"data":
            data.append(value.removeprefix(b" "))
            size += len(line)
            _check_size(size)
            continue
        if not line and data:
            yield _data_line(data)
            size = 0
        yield line + b"\n"
    if data:
        yield _data_line(data) + b"\n"


def _data_line(data: list[bytes]) -> bytes:
    """Return the data of one event as one line, if it is a message; ``data`` is emptied."""
    lines = readable_message(b"\n".join(data)).split(b"\n")
    data.clear()
    return b"".join(b"data: %s\n" % line for line in lines)


def _check_size(size: int) -> None:
    if size > MAX_EVENT_BYTES:
        raise httpx2.SSEError(f"an event is larger than {MAX_EVENT_BYTES:,} bytes")


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    begun: list[bytes] = []
    size = 0
    after_return = False
    async for chunk in chunks:
        if after_return and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        after_return = chunk.endswith(b"\r") if chunk else after_return
        *ends, rest = re.split(rb"\r\n|\r|\n", chunk)
        for end in ends:
            yield b"".join([*begun, end])
            begun.clear()
            size = 0
        begun.append(rest)
        size += len(rest)
        _check_size(size)
    if rest := b"".join(begun):
        yield rest


def _decoded(data: bytes) -> Any:
    """Return decoded JSON in any encoding of Unicode, or None."""
    try:
        text = data.decode(json.detect_encoding(data), "replace")
        return json.loads(readable_json(text.encode("utf-8", "replace")))
    except (ValueError, RecursionError):
        return None


def _is_message(found: Any) -> bool:
    if not isinstance(found, dict):
        return False
    if isinstance(found.get("method"), str):
        return "jsonrpc" in found or "params" in found or "id" in found
    return "id" in found and ("result" in found or "error" in found)


def _message(found: dict[str, Any]) -> dict[str, Any]:
    message = {**found, "jsonrpc": "2.0"}
    if isinstance(found.get("method"), str):
        kept = {key: value for key, value in message.items() if value is not None}
        return {key: kept[key] for key in ("jsonrpc", "id", "method", "params") if key in kept}
    if found.get("error") is None:
        result = found.get("result")
        return {"jsonrpc": "2.0", "id": found["id"], "result": {} if result is None else result}
    return {"jsonrpc": "2.0", "id": found["id"], "error": _error(found["error"])}


def _error(found: Any) -> dict[str, Any]:
    code = found.get("code") if isinstance(found, dict) else None
    is_code = isinstance(code, int) and not isinstance(code, bool)
    words = _words(found) or "the server gave no reason"
    return {
        "code": code if is_code else INTERNAL_ERROR,
        "message": words if is_code or code is None else f"{words} ({code})",
    }


def _words(found: Any) -> str:
    """Return the reason that an error gives, in whichever field; empty if it gives none."""
    if isinstance(found, str):
        return found.strip()
    if not isinstance(found, dict):
        return ""
    return next((words for name in _WORDS if (words := _words(found.get(name)))), "")


def _plain_text(data: bytes) -> str:
    text = data[: MAX_ERROR_CHARS * 4].decode("utf-8", "replace").strip()
    return "" if text.startswith(("<", "{", "[")) else text[:MAX_ERROR_CHARS]
