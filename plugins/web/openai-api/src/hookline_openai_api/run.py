"""A request that is under way, or over: its answer as a log that anybody may follow.

The log is a list of entries, which are lists, so that JSON holds them:

* ``["text", words]`` of the answer, ``["think", words]`` of the model's thoughts;
* ``["part"]`` when a response of the model has ended;
* ``["call", id, name, arguments]`` and ``["result", id, name, ok, text]`` of a tool;
* ``["note", sentence]`` beside the answer;
* ``["end", {"state", "reply", "usage", "finish", "error", "turn"}]``, always last and never missing
  from a run that is over.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from hookline_hookspecs import Inbound, Message, TextBlock, ToolCall, ToolResultBlock

Entry: TypeAlias = list[Any]
LONGEST_RESULT = 20_000
"""Characters of a tool's result that are kept."""
_CUT = "\n[…]"
USAGE = ("input", "cache_read", "output", "reasoning")


@dataclass(slots=True, eq=False)
class Run:
    """A request and its answer.

    Attributes:
        id: the id of the message; the id of the answer ends with it.
        request: what the answer repeats of the request, as JSON, and while it is under way its
            ``system`` text.
        chain: the chain of the client's messages up to this one.
        created: Unix time in seconds.
        is_held: its message waits for the stream to begin.
        started: its turn is the one under way in its session.
        process: which other process runs its turn.
        left: the entries that the client has seen before it went away.
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
    log: list[Entry] = field(default_factory=list)
    is_held: bool = False
    started: bool = False
    stopping: bool = False
    process: str = ""
    followers: int = 0
    left: int | None = None
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
        """How it ended; None while it is under way."""
        return self.log[-1][1] if self.log and self.log[-1][0] == "end" else None

    # What happens

    def add(self, *entry: Any) -> None:
        """Append an entry."""
        self.log.append(list(entry))
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def grow(self, words: str) -> None:
        """Words of the answer came; what a broken stream repeats is not said twice."""
        if self._broken:
            self._repeated += words
            if self._part.startswith(self._repeated):
                return
            self._broken = False
            if self._repeated.startswith(self._part):
                words = self._repeated[len(self._part) :]
            else:
                words, self._part = "\n\n" + self._repeated, ""
            self._repeated = ""
        elif not self._part and self._shown and words:
            self.add("text", "\n\n")
        if words:
            self._part += words
            self._shown = True
            self.add("text", words)

    def restart(self) -> None:
        """The stream broke off and begins again."""
        self._broken, self._repeated = bool(self._part), ""

    def close_part(self, has_calls: bool) -> None:
        """A response of the model has ended."""
        self._broken = False
        self.add("part")
        if has_calls:
            self._part = ""

    def call(self, call: ToolCall) -> None:
        """The model calls a tool."""
        arguments = json.dumps(call.arguments, ensure_ascii=False, default=str)
        self.add("call", call.id, call.name, arguments)

    def result(self, call_id: str, name: str, ok: bool, text: str) -> None:
        """A tool has answered."""
        cut = text if len(text) <= LONGEST_RESULT else text[:LONGEST_RESULT] + _CUT
        self.add("result", call_id, name, ok, cut)

    def recall(self, messages: Iterable[Message]) -> None:
        """Add what the stored messages of the turn hold and the log lacks: a process that has died
        heard it."""
        known = {(entry[0], entry[1]) for entry in self.log if entry[0] in ("call", "result")}
        names = {entry[1]: entry[2] for entry in self.log if entry[0] == "call"}
        is_new = not self.log
        for message in messages:
            for block in message.blocks:
                if isinstance(block, ToolResultBlock) and ("result", block.call_id) not in known:
                    name = names.get(block.call_id, "")
                    self.result(block.call_id, name, block.ok, block.text)
                elif is_new and message.role == "assistant" and isinstance(block, TextBlock):
                    self.grow(block.text)
            if is_new and message.role == "assistant":
                self.close_part(bool(message.tool_calls))
                for call in message.tool_calls:
                    names[call.id] = call.name
                    self.call(call)

    @property
    def is_open(self) -> bool:
        """Whether words came last, of a response that may go on."""
        return bool(self.log) and self.log[-1][0] in ("text", "think")

    def as_heard(self) -> list[Any]:
        """Return what was heard of the turn so far, for :meth:`hear`."""
        return [[*self.log], self._part, self._shown, self.usage, self.finish]

    def hear(self, heard: Sequence[Any]) -> None:
        """Take over what another process has heard; nothing if anything was heard here."""
        if not self.log:
            log, self._part, self._shown, self.usage, self.finish = heard
            for entry in log:
                self.add(*entry)

    def rest_of(self, reply: str) -> str:
        """Return what of the reply has not been shown yet."""
        rest = remainder(self._part, reply)
        if rest is None:
            rest = reply
        return ("\n\n" if self._shown and rest == reply and rest else "") + rest

    def text(self, until: int | None = None) -> str:
        """Return the words of the answer, as they were streamed."""
        return "".join(entry[1] for entry in self.log[:until] if entry[0] == "text")

    # Following

    async def follow(self, silence: float, start: int = 0) -> AsyncIterator[Sequence[Entry]]:
        """Yield new entries as they come, and nothing after ``silence`` seconds without any."""
        seen = start
        while True:
            changed, new = self._changed, self.log[seen:]
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
        """Return how it ended, once it has."""
        while (end := self.end) is None:
            await self._changed.wait()
        return end


def remainder(shown: str, whole: str) -> str | None:
    """Return what follows ``shown`` in ``whole``, or None if that does not begin with it. Blanks
    do not count."""
    wanted = "".join(shown.split())
    found = 0
    for place, character in enumerate(whole):
        if found == len(wanted):
            return whole[place:] if whole[place:].strip() else ""
        if character.isspace():
            continue
        if character != wanted[found]:
            return None
        found += 1
    return "" if found == len(wanted) else None
