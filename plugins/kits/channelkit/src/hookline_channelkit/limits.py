"""Limits of a platform: lengths of messages, numbers of edits, and rates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["text", "edit", "file", "typing"]
"""Kinds of requests: send a message, edit one, send a file, or show the typing indicator."""
Scope: TypeAlias = Literal["chat", "workspace"]
"""What a rate limit applies to: one chat, or all requests of this bot."""
Measure: TypeAlias = Callable[[str], int]
"""Measures Markdown as the platform measures the message that it becomes."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Maximum requests per second, in one chat and overall; 0 = no limit. Requests are spread
    evenly, without bursts."""

    per_chat: float = 0.0
    overall: float = 0.0


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a platform.

    Args:
        text: maximum length of a message, in ``unit``, or as ``measure`` counts if that is given.
        unit: the unit that the platform counts: UTF-16 code units, characters, or bytes of UTF-8.
        measure: measures Markdown as the platform measures the whole encoded message, for example
            ``lambda text: len(json.dumps(body_of(text)).encode())``. Longer text must count for
            more in the long run, but not with each character. Without it, ``unit`` counts the
            Markdown itself.
        tables: maximum Markdown tables in one message; None = no limit.
        edits: maximum edits of one message; None = no limit. The last ones are reserved for the
            reply: a running answer that needs more continues in a new message.
        edit_seconds: seconds after which a message can no longer be edited freely; a running answer
            continues in a new message before that. None = no limit.
        edit_every: minimum seconds between two edits of one message.
        per_chat: maximum messages per second in one chat; 0 = no limit.
        overall: maximum messages per second in all chats; 0 = no limit.
        rates: separate rates for some kinds of requests. Any other kind shares ``per_chat`` and
            ``overall``, except ``typing``, which has no limit.
        typing_every: seconds after which the typing indicator expires.
        file_bytes: maximum size of a file that is sent.
        choices: maximum buttons of one message; None = no limit. A question with more choices has
            no buttons and is answered in words.
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
