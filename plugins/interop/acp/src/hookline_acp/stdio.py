"""Reads and writes the protocol's lines over stdin and stdout, which nothing else may use.

An invalid line is answered with an error and skipped; it does not end the connection.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

from hookline_hookspecs.strict_json import InvalidJson, parse_off_loop, read_json

MAX_LINE_BYTES = 64_000_000
"""Bytes of a line; a longer one is skipped and answered with an error."""
MAX_QUEUED_LINES = 16
"""Lines that are read ahead."""
DRAIN_TIMEOUT = 3.0
"""Seconds that closing waits for the editor to read pending messages."""
PARSE_ERROR, INVALID_REQUEST = -32700, -32600
"""JSON-RPC's error codes for invalid JSON and for invalid messages."""
MAX_ERROR_CHARS = 2_000
"""Characters of an error; a longer one is sent without its data."""

Message = dict[str, Any]


def take_stdio() -> tuple[int, int]:
    """Return copies of the descriptors of stdin and stdout, for the protocol alone.

    Afterwards everything printed goes to stderr, and child processes read an empty stdin.
    """
    taken = os.dup(0), os.dup(1)
    empty = os.open(os.devnull, os.O_RDWR)
    os.dup2(empty, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # stderr is closed
        os.dup2(empty, 1)
    os.close(empty)
    return taken


class OversizedLine:
    """Stands for a line longer than :data:`MAX_LINE_BYTES`."""


class StdioTransport:
    """The connection, message by message (the SDK's protocol ``Transport``).

    Args:
        incoming: the descriptor to read until it ends.
        outgoing: the descriptor to write to; a slow reader blocks nothing.
        max_line_bytes: bytes of the longest accepted line.
    """

    def __init__(self, incoming: int, outgoing: int, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        self._incoming = incoming
        self._max_line_bytes = max_line_bytes
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[bytes | OversizedLine | None] = asyncio.Queue(MAX_QUEUED_LINES)
        self._writer = MessageWriter(
            outgoing, lambda: self._loop.call_soon_threadsafe(self._gone.set)
        )
        self._gone = asyncio.Event()
        self._after: dict[str, Callable[[], None]] = {}
        self._unanswered: set[Any] = set()
        self._answered = asyncio.Event()
        self.ending: Callable[[], Awaitable[None]] | None = None
        """Called at the end of input, before open requests are answered."""
        threading.Thread(target=self._read, name="acp stdin", daemon=True).start()

    def push(self, message: Message) -> None:
        """Queue a message for sending; never blocks."""
        self._writer.push(message)

    async def send(self, message: Message) -> None:
        """Send an answer or a request of the SDK."""
        error = message.get("error")
        if isinstance(error, dict) and len(json.dumps(error, default=str)) > MAX_ERROR_CHARS:
            message = message | {"error": {"code": error["code"], "message": error["message"]}}
        self.push(message)
        if "method" not in message:
            self._unanswered.discard(message["id"])
            self._answered.set()
        result = message.get("result")
        if isinstance(result, dict):
            follow = self._after.pop(result.get("sessionId", ""), None)
            if follow is not None:
                follow()

    def after(self, session_id: str, follow: Callable[[], None]) -> None:
        """Call ``follow`` once the answer that announces the session has been sent."""
        self._after[session_id] = follow

    async def close(self) -> None:
        """Stop writing after pending messages are written, or after :data:`DRAIN_TIMEOUT`."""
        await asyncio.to_thread(self._writer.close, DRAIN_TIMEOUT)

    async def receive(self) -> Message | None:
        """Return the next valid message; None at the end, or if the output was closed."""
        gone = asyncio.ensure_future(self._gone.wait())
        try:
            while not self._gone.is_set():
                getting = asyncio.ensure_future(self._queue.get())
                await asyncio.wait({getting, gone}, return_when=asyncio.FIRST_COMPLETED)
                if not getting.done():
                    getting.cancel()
                    return None
                line = getting.result()
                if line is None:
                    await self._finish(gone)
                    return None
                if (message := await self._message(line)) is not None:
                    return message
            return None
        finally:
            gone.cancel()

    async def _finish(self, gone: asyncio.Future[Any]) -> None:
        """Wait until open requests are answered, the output is closed, or the timeout."""
        if self.ending is not None:
            await self.ending()
        try:
            async with asyncio.timeout(DRAIN_TIMEOUT):
                while self._unanswered and not gone.done():
                    self._answered.clear()
                    answered = asyncio.ensure_future(self._answered.wait())
                    try:
                        await asyncio.wait({answered, gone}, return_when=asyncio.FIRST_COMPLETED)
                    finally:
                        answered.cancel()
        except TimeoutError:
            return

    async def _message(self, line: bytes | OversizedLine) -> Message | None:
        """Parse a line. Return None for an empty or invalid one; the latter is answered."""
        if isinstance(line, OversizedLine):
            self._refuse(PARSE_ERROR, f"a line is longer than {self._max_line_bytes:,} bytes")
            return None
        if not line.strip():
            return None
        try:
            message = await parse_off_loop(partial(read_json, any_text=True), line)
        except InvalidJson as error:
            self._refuse(PARSE_ERROR, f"the line is {error}; write one message per line, in UTF-8")
            return None
        if not isinstance(message, dict):
            self._refuse(INVALID_REQUEST, "expected a JSON object; batches are not supported")
            return None
        number = message.get("id")
        method = message.get("method")
        if isinstance(number, (dict, list, float, bool)):
            self._refuse(INVALID_REQUEST, "id must be a string or an integer")
            return None
        if method is not None and not isinstance(method, str):
            self._refuse(INVALID_REQUEST, "method must be a string", number)
            return None
        if method is None and "id" not in message:
            self._refuse(INVALID_REQUEST, "a message needs a method, or the id that it answers")
            return None
        params = message.get("params")
        if isinstance(params, dict):
            params.pop("_meta", None)  # the SDK would treat its keys as parameters
        if not isinstance(message.get("error"), dict):
            message.pop("error", None)
        if method is not None and "id" in message:
            self._unanswered.add(number)
        return message

    def _refuse(self, code: int, text: str, number: Any = None) -> None:
        self.push({"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": text}})

    def _read(self) -> None:
        with suppress(RuntimeError):  # the loop is closed
            for line in self._lines():
                self._put(line)
            self._put(None)

    def _put(self, line: bytes | OversizedLine | None) -> None:
        putting = self._queue.put(line)
        try:
            waiting = asyncio.run_coroutine_threadsafe(putting, self._loop)
        except RuntimeError:
            putting.close()
            raise
        waiting.result()

    def _lines(self) -> Iterator[bytes | OversizedLine]:
        rest = bytearray()
        skipping = False
        with suppress(OSError):
            while piece := os.read(self._incoming, 65_536):
                first, *others = piece.split(b"\n")
                rest += first
                if len(rest) > self._max_line_bytes and not skipping:
                    skipping = True
                    yield OversizedLine()
                if skipping:
                    rest.clear()
                for part in others:
                    if not skipping:
                        yield bytes(rest)
                    skipping = False
                    rest = bytearray(part)
        if rest and not skipping:
            yield bytes(rest)


class MessageWriter:
    """Writes messages in a thread, in order.

    While the reader is slow, consecutive chunks of the same message are joined, so that a long
    answer does not pile up.

    Args:
        descriptor: the descriptor to write to.
        gone: called, in the thread, when the reader has closed its end.
    """

    def __init__(self, descriptor: int, gone: Callable[[], Any]) -> None:
        self._descriptor = descriptor
        self._gone = gone
        self._waiting: deque[Message] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="acp stdout", daemon=True)
        self._thread.start()

    def push(self, message: Message) -> None:
        """Queue a message; ignored once the writer is closed."""
        with self._changed:
            if self._closed:
                return
            if not (self._waiting and _append_text(self._waiting[-1], message)):
                self._waiting.append(message)
            self._changed.notify()

    def close(self, seconds: float) -> None:
        """Accept no more messages, and wait at most ``seconds`` for the queue to be written."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join(seconds)

    def _run(self) -> None:
        while (messages := self._next()) is not None:
            data = b"".join(_encode(one) for one in messages)
            try:
                view = memoryview(data)
                while view:
                    view = view[os.write(self._descriptor, view) :]
            except OSError:
                with self._changed:
                    self._closed = True
                    self._waiting.clear()
                with suppress(RuntimeError):  # the loop is closed
                    self._gone()
                return

    def _next(self) -> list[Message] | None:
        with self._changed:
            while not self._waiting:
                if self._closed:
                    return None
                self._changed.wait()
            found = list(self._waiting)
            self._waiting.clear()
            return found


def _encode(message: Message) -> bytes:
    text = json.dumps(message, separators=(",", ":"), ensure_ascii=False, default=str)
    return text.encode("utf-8", "replace") + b"\n"


def _append_text(last: Message, message: Message) -> bool:
    """Append the text of ``message`` to ``last`` if it continues it; return whether it did."""
    one = _chunk(last)
    other = _chunk(message)
    if one is None or other is None:
        return False
    if last["params"]["sessionId"] != message["params"]["sessionId"]:
        return False
    if {**one, "content": None} != {**other, "content": None}:
        return False
    one["content"]["text"] += other["content"]["text"]
    return True


def _chunk(message: Message) -> Message | None:
    if message.get("method") != "session/update":
        return None
    update: Message = message["params"]["update"]
    if not str(update.get("sessionUpdate")).endswith("_chunk"):
        return None
    return update if update["content"]["type"] == "text" else None
