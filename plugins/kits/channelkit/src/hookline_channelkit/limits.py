"""What a platform allows: how long a message may be, how often it may be edited, and how fast."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["text", "edit", "file", "typing"]
"""What a request does: a new message, a change of one, a file, the typing indicator."""
Scope: TypeAlias = Literal["chat", "workspace"]
"""What a rate holds for: one chat, or everything that this bot does."""
Measure: TypeAlias = Callable[[str], int]
"""Counts a piece of Markdown as the platform counts the message that it becomes."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Requests a second, at most, in one chat and in all; 0 = no limit. They go out evenly."""

    per_chat: float = 0.0
    overall: float = 0.0


@dataclass(frozen=True, slots=True)
class Limits:
    """What a platform allows.

    Args:
        text: longest message, in ``unit``, or as ``measure`` counts where that is given.
        unit: what the platform counts: UTF-16 code units, characters, or bytes of UTF-8.
        measure: counts a piece of Markdown as the platform counts the whole encoded message, for
            example ``lambda text: len(json.dumps(post_of(text)).encode())``. Longer text has to
            count for more in the long run, not with each character. Without it, ``unit`` counts
            the Markdown itself.
        tables: Markdown tables in one message, at most; None = any number.
        edits: edits of one message, at most; None = any number. The last one is kept for the
            reply: a running answer that needs more goes on in a new message.
        edit_seconds: seconds after which a message can no longer be edited freely; a running answer
            goes on in a new message before that. None = for ever.
        edit_every: seconds between two edits of one message at least.
        per_chat: messages a second in one chat at most; 0 = no limit.
        overall: messages a second in all chats at most; 0 = no limit.
        rates: rates of their own for some kinds of requests. A kind that is not named shares the
            pace of ``per_chat`` and ``overall``, but for ``typing``, which has none.
        typing_every: seconds after which the platform forgets that somebody types.
        file_bytes: largest file that can be sent.
        choices: buttons of one message, at most; for more there is none, and they are answered in
            words. None = any number.
    """

    text: int
    unit: Literal["utf16", "chars", "bytes"] = "chars"
    edit_every: float = 1.0
    per_chat: float = 1.0
    overall: float = 30.0
    file_bytes: int = 50_000_000
    measure: Measure | None = None
    tables: int | None = None
    edits: int | None = None
    edit_seconds: float | None = None
    rates: Mapping[Kind, Rate] = field(default_factory=lambda: MappingProxyType({}))
    typing_every: float = 4.5
    choices: int | None = None
