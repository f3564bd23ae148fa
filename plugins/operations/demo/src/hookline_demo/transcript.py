"""The content of a session after its runs, from ``hookline sessions export``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .process import Line, ask_lines
from .stage import Stage


@dataclass
class StoredCall:
    """A stored tool call with the texts of its stored results."""

    id: str
    name: str
    results: list[str] = field(default_factory=list)


@dataclass
class Transcript:
    """The stored calls in order, and the model's last text of each turn."""

    calls: list[StoredCall]
    replies: list[str]

    @classmethod
    def of(cls, stage: Stage, session: str) -> Transcript:
        """Export the session and read it; empty if there is none."""
        messages = ask_lines(stage, "sessions", "export", session)
        calls = [
            StoredCall(str(block.get("id")), str(block.get("name")))
            for _, block in _blocks(messages, "tool_call")
        ]
        for _, block in _blocks(messages, "tool_result"):
            for call in calls:
                if call.id == block.get("call_id"):
                    call.results.append(str(block.get("text", "")))
        replies = {str(message.get("turn")): "" for message in messages}
        for message, block in _blocks(messages, "text"):
            if message.get("role") == "assistant":
                replies[str(message.get("turn"))] = str(block.get("text", ""))
        return cls(calls, list(replies.values()))

    def called(self, name: str) -> list[StoredCall]:
        """The calls of one tool."""
        return [call for call in self.calls if call.name == name]


def _blocks(messages: list[Line], kind: str) -> Iterator[tuple[Line, dict[str, Any]]]:
    for message in messages:
        for block in message.get("blocks", []):
            if block.get("type") == kind:
                yield message, block
