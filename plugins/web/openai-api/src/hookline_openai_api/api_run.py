"""A running or finished request, with its answer as a log that several clients can follow.

The log is a list of entries, which are JSON lists:

* ``["text", words]`` of the answer, ``["think", words]`` of the model's thoughts;
* ``["part"]`` at the end of a model response;
* ``["call", id, name, arguments]`` and ``["result", id, name, ok, text]`` of a tool;
* ``["note", sentence]``, a notice;
* ``["end", {"state", "reply", "usage", "finish", "error", "turn"}]``, always the last entry of a
  finished run.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from hookline_hookspecs import Inbound, Message, TextBlock, ToolCall, ToolResultBlock

LogEntry: TypeAlias = list[Any]
MAX_RESULT_CHARS = 20_000
"""Characters stored of a tool's result."""
_CUT = "\n[…]"
USAGE = ("input", "cache_read", "output", "reasoning")


@dataclass(slots=True, eq=False)
class ApiRun:
    """A request and its answer.

    Attributes:
        id: the id of the message; the id of the answer ends with it.
        request: parameters that the answer repeats, as JSON, and the ``system`` text while it runs.
        chain: the digest of the client's messages up to this one.
        created: Unix time in seconds.
        is_held: its message waits for the stream to start.
        started: its turn is running in its session.
        process: the other process that runs its turn.
        seen_entries: number of entries that the client received before it disconnected.
        turn: the id of its turn; empty for a command.
    """

    id: str
    owner: str
    kind: str
    session_id: str
    request: dict[str, Any]
    chain: str = ""
    created: float = 0.0
    retry: str | None = None
    inbound: Inbound | None = None
    log: list[LogEntry] = field(default_factory=list)
    is_held: bool = False
    started: bool = False
    stopping: bool = False
    process: str = ""
    followers: int = 0
    seen_entries: int | None = None
    turn: str = ""
    failure: tuple[str, str] | None = None
    usage: dict[str, int] = field(default_factory=lambda: dict.fromkeys(USAGE, 0))
    finish: str = "stop"
    _part: str = ""
    _repeated: str = ""
    _shown: bool = False
    _broken: bool = False
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def end(self) -> dict[str, Any] | None:
        """The end entry's data; None while the run is running."""
        return self.log[-1][1] if self.log and self.log[-1][0] == "end" else None

    def add(self, *entry: Any) -> None:
        """Append an entry."""
        self.log.append(list(entry))
        changed = self._changed
        self._changed = asyncio.Event()
        changed.set()

    def append_text(self, words: str) -> None:
        """Append text of the answer; text that a restarted stream repeats is skipped."""
        if self._broken:
            self._repeated += words
            if self._part.startswith(self._repeated):
                return
            self._broken = False
            if self._repeated.startswith(self._part):
                words = self._repeated[len(self._part) :]
            else:
                words = "\n\n" + self._repeated
                self._part = ""
            self._repeated = ""
        elif not self._part and self._shown and words:
            self.add("text", "\n\n")
        if words:
            self._part += words
            self._shown = True
            self.add("text", words)

    def restart(self) -> None:
        """Expect repeated text, after the stream broke and started over."""
        self._broken = bool(self._part)
        self._repeated = ""

    def end_response(self, has_calls: bool) -> None:
        """Mark the end of a model response."""
        self._broken = False
        self.add("part")
        if has_calls:
            self._part = ""

    def add_call(self, call: ToolCall) -> None:
        """Add a tool call."""
        arguments = json.dumps(call.arguments, ensure_ascii=False, default=str)
        self.add("call", call.id, call.name, arguments)

    def add_result(self, call_id: str, name: str, ok: bool, text: str) -> None:
        """Add a tool's result."""
        cut = text if len(text) <= MAX_RESULT_CHARS else text[:MAX_RESULT_CHARS] + _CUT
        self.add("result", call_id, name, ok, cut)

    def add_missing(self, messages: Iterable[Message]) -> None:
        """Add the turn's stored messages that the log lacks, after another process died."""
        known = {(entry[0], entry[1]) for entry in self.log if entry[0] in ("call", "result")}
        names = {entry[1]: entry[2] for entry in self.log if entry[0] == "call"}
        is_new = not self.log
        for message in messages:
            for block in message.blocks:
                if isinstance(block, ToolResultBlock) and ("result", block.call_id) not in known:
                    name = names.get(block.call_id, "")
                    self.add_result(block.call_id, name, block.ok, block.text)
                elif is_new and message.role == "assistant" and isinstance(block, TextBlock):
                    self.append_text(block.text)
            if is_new and message.role == "assistant":
                self.end_response(bool(message.tool_calls))
                for call in message.tool_calls:
                    names[call.id] = call.name
                    self.add_call(call)

    @property
    def is_open(self) -> bool:
        """True if the last entry is text, which may continue."""
        return bool(self.log) and self.log[-1][0] in ("text", "think")

    def snapshot(self) -> list[Any]:
        """Return the state so far, for :meth:`restore` in another process."""
        return [[*self.log], self._part, self._shown, self.usage, self.finish]

    def restore(self, snapshot: Sequence[Any]) -> None:
        """Restore another process's state, unless there are entries already."""
        if not self.log:
            log, self._part, self._shown, self.usage, self.finish = snapshot
            for entry in log:
                self.add(*entry)

    def unsent_part(self, reply: str) -> str:
        """Return the part of the reply that was not streamed."""
        rest = text_after(self._part, reply)
        if rest is None:
            rest = reply
        return ("\n\n" if self._shown and rest == reply and rest else "") + rest

    def text(self, until: int | None = None) -> str:
        """Return the answer's text as it was streamed."""
        return "".join(entry[1] for entry in self.log[:until] if entry[0] == "text")

    async def follow(self, silence: float, start: int = 0) -> AsyncIterator[Sequence[LogEntry]]:
        """Yield new entries as they come, and an empty list after ``silence`` seconds without."""
        seen = start
        while True:
            changed = self._changed
            new = self.log[seen:]
            if new:
                seen += len(new)
                yield new
                if new[-1][0] == "end":
                    return
                continue
            try:
                async with asyncio.timeout(silence):
                    await changed.wait()
            except TimeoutError:
                yield ()

    async def wait(self) -> dict[str, Any]:
        """Wait for the end and return its data."""
        while (end := self.end) is None:
            await self._changed.wait()
        return end


def text_after(shown: str, whole: str) -> str | None:
    """Return what follows ``shown`` in ``whole``, or None if ``whole`` does not start with it.

    Whitespace is ignored.
    """
    expected = "".join(shown.split())
    matched = 0
    for position, character in enumerate(whole):
        if matched == len(expected):
            return whole[position:] if whole[position:].strip() else ""
        if character.isspace():
            continue
        if character != expected[matched]:
            return None
        matched += 1
    return "" if matched == len(expected) else None
