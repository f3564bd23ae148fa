"""How much of a server's answer is taken, and how long it is waited for."""

from __future__ import annotations

from dataclasses import dataclass

IDLE = 600.0
"""Seconds; the SDKs' own default. A local model may read a long prompt for minutes."""
TOTAL = 3600.0
"""Seconds; the longest answers of reasoning models are told to take half of it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of one answer. What exceeds one is an error and never a shortened answer.

    The longest answers known have 128,000 tokens, of which a stream carries some 300 bytes each.

    Args:
        idle: seconds between two events of a stream; its bytes alone are no sign of life.
        total: seconds for a request with all its repetitions.
        stream: bytes of a stream, decompressed.
        event: bytes of one event of a stream, and with it of a line.
        body: bytes of an answer in one piece, decompressed.
        refusal: bytes that are read of an answer of status 400 or more; the rest is left.
        characters: of all text, thinking and arguments of an answer.
        blocks: texts, thoughts and calls of an answer.
        calls: tool calls of an answer.
        depth: nesting of a call's arguments.
    """

    idle: float = IDLE
    total: float = TOTAL
    stream: int = 64_000_000
    event: int = 4_000_000
    body: int = 8_000_000
    refusal: int = 200_000
    characters: int = 4_000_000
    blocks: int = 512
    calls: int = 128
    depth: int = 64


class Exceeded(Exception):
    """An answer is larger than a limit allows, or packed so that it cannot be measured."""


class Stalled(Exception):
    """No event came for as long as the limit allows."""
