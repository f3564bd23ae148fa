"""The calls of one turn, in the order in which the model asked for them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from hookline_hookspecs import Message, Tool, ToolCall, ToolError, ToolResultBlock

NOTE = "\n\nNote: "
"""What core puts between a result and each of its notes (CONTRACT, result texts)."""
DENIED = "Denied: "
"""How the result of a denied call begins."""


@dataclass(slots=True)
class Asked:
    """A call that the model asked for.

    ``print`` is the fingerprint of its normalised arguments, empty until it is needed. ``told`` is
    true once its result is known, and ``seen`` holds the fingerprints that the result may have: in
    a result read from the history, it is not known where the text ends and the notes begin. It
    stays empty for a denied call, which has no result of its own.
    """

    name: str
    arguments: Mapping[str, Any]
    print: str = ""
    told: bool = False
    seen: frozenset[str] = frozenset()

    def same_as(self, other: Asked, tool: Tool | None) -> bool:
        """Whether both call the same ``tool`` with the same normalised arguments."""
        return self.name == other.name and self._printed(tool) == other._printed(tool)

    def _printed(self, tool: Tool | None) -> str:
        if not self.print:
            self.print = fingerprint(_normalised(self.arguments, tool))
        return self.print


class Calls:
    """The calls of a turn by id.

    They are read from the turn's messages, so that they are in the model's order even if they run
    in parallel, and a turn that another process started is known from its beginning. Calls that a
    compaction removes from the messages stay known here.
    """

    def __init__(self) -> None:
        self._asked: dict[str, Asked] = {}
        self._read: Message | None = None

    def catch_up(self, messages: Sequence[Message]) -> Iterator[tuple[str, ToolResultBlock]]:
        """Read what is new in the turn's messages. Yields name and result of each call whose result
        :meth:`finished` has not been given.
        """
        if not messages or messages[-1] is self._read:
            return
        self._read = messages[-1]
        for message in messages:
            for block in message.blocks:
                if isinstance(block, ToolCall):
                    self._asked.setdefault(block.id, Asked(block.name, block.arguments))
                elif isinstance(block, ToolResultBlock):
                    asked = self._asked.get(block.call_id)
                    if asked is not None and not asked.told:
                        asked.told, asked.seen = True, _possible(block.text)
                        yield asked.name, block

    def of(self, call: ToolCall) -> Asked:
        """Return the call as the model asked for it; one that is in no message comes last."""
        return self._asked.setdefault(call.id, Asked(call.name, call.arguments))

    def repeats(self, call: ToolCall, tool: Tool | None, window: int) -> int:
        """Return how many of the last ``window`` calls are equal to this one, itself included."""
        mine = self.of(call)
        asked = list(self._asked.values())
        place = next(number for number, one in enumerate(asked) if one is mine)
        among = asked[max(0, place + 1 - window) : place + 1]
        return sum(one.same_as(mine, tool) for one in among)

    def finished(self, call: ToolCall, text: str, tool: Tool | None) -> bool:
        """Record a call's whole result; return whether the last equal call had the same one."""
        mine, now = self.of(call), fingerprint(text)
        mine.told = True
        if text.startswith(DENIED):
            return False
        mine.seen = frozenset([now])
        for one in reversed(self._asked.values()):
            if one is not mine and one.seen and one.same_as(mine, tool):
                return now in one.seen
        return False


def fingerprint(text: str) -> str:
    """Return a hash of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _possible(shown: str) -> frozenset[str]:
    """Return the fingerprints of what a result may have been before notes were appended."""
    if shown.startswith(DENIED):
        return frozenset()
    parts = shown.split(NOTE)
    return frozenset(fingerprint(NOTE.join(parts[:stop])) for stop in range(1, len(parts) + 1))


def _normalised(arguments: Mapping[str, Any], tool: Tool | None) -> str:
    """Return the arguments as canonical JSON: typed as the tool declares, keys sorted, without
    arguments that have their default.
    """
    defaults: Mapping[str, Any] = {}
    if tool is not None:
        with suppress(ToolError):  # refused by the tool, so it is compared as it was written
            arguments = tool.check(arguments)
        defaults = tool.defaults
    kept = {
        name: value
        for name, value in arguments.items()
        if not (name in defaults and defaults[name] == value)
    }
    return json.dumps(kept, sort_keys=True, default=str)
