"""The calls of one turn, in the order in which the model requested them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from hookline_hookspecs import Message, Tool, ToolCall, ToolError, ToolResultBlock

NOTE_SEPARATOR = "\n\nNote: "
"""Core puts this between a result and each of its notes."""
DENIED_PREFIX = "Denied: "
"""The result of a denied call begins with this."""


@dataclass(slots=True)
class CallRecord:
    """A call that the model requested.

    ``arguments_hash`` is the hash of its normalised arguments, empty until it is needed.
    ``is_finished`` is true once the result is known. ``result_hashes`` holds the hashes that the
    result may have: in a result read from the history, it is not known where the text ends and the
    notes begin. It stays empty for a denied call, which has no result of its own.
    """

    name: str
    arguments: Mapping[str, Any]
    arguments_hash: str = ""
    is_finished: bool = False
    result_hashes: frozenset[str] = frozenset()

    def equals(self, other: CallRecord, tool: Tool | None) -> bool:
        """Whether both call the same ``tool`` with the same normalised arguments."""
        return self.name == other.name and self._hash(tool) == other._hash(tool)

    def _hash(self, tool: Tool | None) -> str:
        if not self.arguments_hash:
            self.arguments_hash = hash_text(_normalised_arguments(self.arguments, tool))
        return self.arguments_hash


class CallHistory:
    """The calls of a turn by id.

    They are read from the turn's messages. So they are in the model's order even if they run in
    parallel, and a turn that another process started is complete. Calls that a compaction removes
    from the messages stay here.
    """

    def __init__(self) -> None:
        self._calls: dict[str, CallRecord] = {}
        self._last_read: Message | None = None

    def catch_up(self, messages: Sequence[Message]) -> Iterator[tuple[str, ToolResultBlock]]:
        """Read the new messages of the turn. Yields name and result of each call that was not
        passed to :meth:`finish`.
        """
        if not messages or messages[-1] is self._last_read:
            return
        self._last_read = messages[-1]
        for message in messages:
            for block in message.blocks:
                if isinstance(block, ToolCall):
                    self._calls.setdefault(block.id, CallRecord(block.name, block.arguments))
                elif isinstance(block, ToolResultBlock):
                    record = self._calls.get(block.call_id)
                    if record is not None and not record.is_finished:
                        record.is_finished = True
                        record.result_hashes = _possible_hashes(block.text)
                        yield record.name, block

    def record_of(self, call: ToolCall) -> CallRecord:
        """The record of a call; a call that is in no message is added at the end."""
        return self._calls.setdefault(call.id, CallRecord(call.name, call.arguments))

    def count_equal(self, call: ToolCall, tool: Tool | None, window: int) -> int:
        """Count the calls equal to this one, itself included, among the last ``window`` calls."""
        record = self.record_of(call)
        calls = list(self._calls.values())
        position = next(index for index, other in enumerate(calls) if other is record)
        latest = calls[max(0, position + 1 - window) : position + 1]
        return sum(other.equals(record, tool) for other in latest)

    def finish(self, call: ToolCall, text: str, tool: Tool | None) -> bool:
        """Record a call's whole result; return whether the last equal call had the same one."""
        record = self.record_of(call)
        record.is_finished = True
        if text.startswith(DENIED_PREFIX):
            return False
        result_hash = hash_text(text)
        record.result_hashes = frozenset([result_hash])
        for other in reversed(self._calls.values()):
            if other is not record and other.result_hashes and other.equals(record, tool):
                return result_hash in other.result_hashes
        return False


def hash_text(text: str) -> str:
    """The SHA-256 of a text, in hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _possible_hashes(text: str) -> frozenset[str]:
    """The hashes of all texts that a result may have been before notes were appended."""
    if text.startswith(DENIED_PREFIX):
        return frozenset()
    parts = text.split(NOTE_SEPARATOR)
    return frozenset(
        hash_text(NOTE_SEPARATOR.join(parts[:stop])) for stop in range(1, len(parts) + 1)
    )


def _normalised_arguments(arguments: Mapping[str, Any], tool: Tool | None) -> str:
    """The arguments as canonical JSON: typed as the tool declares, keys sorted, without arguments
    that equal their default.
    """
    defaults: Mapping[str, Any] = {}
    if tool is not None:
        with suppress(ToolError):  # invalid arguments are compared as they are
            arguments = tool.check(arguments)
        defaults = tool.defaults
    explicit = {
        name: value
        for name, value in arguments.items()
        if not (name in defaults and defaults[name] == value)
    }
    return json.dumps(explicit, sort_keys=True, default=str)
