"""The protocol's lines over standard input and output, which nothing else may use.

What cannot be read is answered and skipped, so that one bad line does not end the connection.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from typing import Any

LONGEST = 64_000_000
"""Bytes of a line; one that is longer is skipped and answered with an error."""
AHEAD = 16
"""Lines that are read before they are wanted."""
PATIENCE = 3.0
"""Seconds for which the end waits until the editor has read what was said."""
PARSE, INVALID = -32700, -32600
"""JSON-RPC's codes for what is no JSON, and for what is no message."""
LONGEST_ECHO = 2_000
"""Characters of what an error repeats of the request."""

Message = dict[str, Any]


def take_stdio() -> tuple[int, int]:
    """Return descriptors of standard input and output, for the protocol alone.

    From now on, what prints goes to standard error, and programs that are started read nothing.
    """
    taken = os.dup(0), os.dup(1)
    empty = os.open(os.devnull, os.O_RDWR)
    os.dup2(empty, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # there is no standard error
        os.dup2(empty, 1)
    os.close(empty)
    return taken


class TooLong:
    """In place of a line that is longer than :data:`LONGEST`."""


class Pipes:
    """The connection, message by message (the SDK's protocol ``Transport``).

    Args:
        incoming: a descriptor that is read until it ends.
        outgoing: a descriptor that is written to; a reader that is slow holds up nothing.
        longest: bytes of a line that is read.
    """

    def __init__(self, incoming: int, outgoing: int, longest: int = LONGEST) -> None:
        self._incoming, self._longest = incoming, longest
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[bytes | TooLong | None] = asyncio.Queue(AHEAD)
        self._writer = Writer(outgoing, lambda: self._loop.call_soon_threadsafe(self._gone.set))
        self._gone = asyncio.Event()
        self._after: dict[str, Callable[[], None]] = {}
        self._unanswered: set[Any] = set()
        self._answered = asyncio.Event()
        self.ending: Callable[[], Awaitable[None]] | None = None
        """Called when the editor has said its last word; what is under way is answered then."""
        threading.Thread(target=self._read, name="acp stdin", daemon=True).start()

    # Out

    def push(self, message: Message) -> None:
        """Send a message after all that was sent before; never waits."""
        self._writer.push(message)

    async def send(self, message: Message) -> None:
        """Send an answer or a request of the SDK's."""
        error = message.get("error")
        if isinstance(error, dict) and len(json.dumps(error, default=str)) > LONGEST_ECHO:
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
        """Call ``follow`` once the answer that makes a session known was sent."""
        self._after[session_id] = follow

    async def close(self) -> None:
        """Stop writing, when what was said is written, or after :data:`PATIENCE`."""
        await asyncio.to_thread(self._writer.close, PATIENCE)

    # In

    async def receive(self) -> Message | None:
        """Return the next message that is one; None at the end, or when nobody reads any more."""
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
                if (message := self._message(line)) is not None:
                    return message
            return None
        finally:
            gone.cancel()

    async def _finish(self, gone: asyncio.Future[Any]) -> None:
        """Answer what was asked before the end, unless nobody reads it or it takes too long."""
        if self.ending is not None:
            await self.ending()
        try:
            async with asyncio.timeout(PATIENCE):
                while self._unanswered and not gone.done():
                    self._answered.clear()
                    answered = asyncio.ensure_future(self._answered.wait())
                    try:
                        await asyncio.wait({answered, gone}, return_when=asyncio.FIRST_COMPLETED)
                    finally:
                        answered.cancel()
        except TimeoutError:
            return

    def _message(self, line: bytes | TooLong) -> Message | None:
        """The message of a line, or None when an error was sent in its place."""
        if isinstance(line, TooLong):
            self._refuse(PARSE, f"a line is longer than {self._longest:,} bytes")
            return None
        if not line.strip():
            return None
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            self._refuse(PARSE, "a line is no JSON; write one message a line, in UTF-8")
            return None
        if not isinstance(message, dict):
            self._refuse(INVALID, "a message is a JSON object; batches are not taken")
            return None
        number, method = message.get("id"), message.get("method")
        if isinstance(number, (dict, list, float, bool)):
            self._refuse(INVALID, "an id is a string or a whole number")
            return None
        if method is not None and not isinstance(method, str):
            self._refuse(INVALID, "a method is a string", number)
            return None
        if method is None and "id" not in message:
            self._refuse(INVALID, "a message has a method, or the id that it answers")
            return None
        params = message.get("params")
        if isinstance(params, dict):
            params.pop("_meta", None)  # the SDK would take its keys for parameters
        if not isinstance(message.get("error"), dict):
            message.pop("error", None)
        if method is not None and "id" in message:
            self._unanswered.add(number)
        return message

    def _refuse(self, code: int, text: str, number: Any = None) -> None:
        self.push({"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": text}})

    def _read(self) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody reads any more
            for line in self._lines():
                self._put(line)
            self._put(None)

    def _put(self, line: bytes | TooLong | None) -> None:
        putting = self._queue.put(line)
        try:
            waiting = asyncio.run_coroutine_threadsafe(putting, self._loop)
        except RuntimeError:
            putting.close()
            raise
        waiting.result()

    def _lines(self) -> Iterator[bytes | TooLong]:
        rest, skipping = bytearray(), False
        with suppress(OSError):
            while piece := os.read(self._incoming, 65_536):
                first, *others = piece.split(b"\n")
                rest += first
                if len(rest) > self._longest and not skipping:
                    skipping = True
                    yield TooLong()
                if skipping:
                    rest.clear()
                for part in others:
                    if not skipping:
                        yield bytes(rest)
                    skipping = False
                    rest = bytearray(part)
        if rest and not skipping:
            yield bytes(rest)


class Writer:
    """Writes messages in a thread, in order.

    Text that follows text of the same message is sent in one piece while the reader is slow, so
    that a long answer does not pile up.

    Args:
        descriptor: where to.
        gone: called, in the thread, when nobody reads any more.
    """

    def __init__(self, descriptor: int, gone: Callable[[], Any]) -> None:
        self._descriptor, self._gone = descriptor, gone
        self._waiting: deque[Message] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="acp stdout", daemon=True)
        self._thread.start()

    def push(self, message: Message) -> None:
        """Write a message when those before it are written; nothing once it is closed."""
        with self._changed:
            if self._closed:
                return
            if not (self._waiting and _joined(self._waiting[-1], message)):
                self._waiting.append(message)
            self._changed.notify()

    def close(self, seconds: float) -> None:
        """Write what waits, for at most ``seconds``; nothing is taken any more."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join(seconds)

    def _run(self) -> None:
        while (messages := self._next()) is not None:
            data = b"".join(_encoded(one) for one in messages)
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


def _encoded(message: Message) -> bytes:
    text = json.dumps(message, separators=(",", ":"), ensure_ascii=False, default=str)
    return text.encode("utf-8", "replace") + b"\n"


def _joined(last: Message, message: Message) -> bool:
    """True if ``message`` only goes on with the text of ``last``, which then has it."""
    one, other = _chunk(last), _chunk(message)
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
