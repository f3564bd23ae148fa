"""Limits of the size and the duration of a response."""

from __future__ import annotations

from dataclasses import dataclass

IDLE_TIMEOUT = 600.0
"""Seconds without an event, as in the SDKs. A local model may read a long prompt for minutes."""
TOTAL_TIMEOUT = 3600.0
"""Seconds for a request with its retries. Reasoning models take up to half of it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one response. Exceeding one is an error; nothing is cut.

    The longest known responses have 128,000 tokens, with about 300 bytes each in a stream.

    Args:
        idle: seconds between two events of a stream; bytes alone do not count.
        total: seconds for a request with its retries.
        stream: bytes of a stream, decompressed.
        event: bytes of one event of a stream, and therefore of a line.
        body: bytes of a response in one piece, decompressed.
        refusal: bytes that are read from a response of status 400 or more.
        characters: characters of all text and thinking.
        blocks: blocks of text, thinking and tool calls.
        calls: tool calls.
        depth: nesting of a tool call's arguments.
    """

    idle: float = IDLE_TIMEOUT
    total: float = TOTAL_TIMEOUT
    stream: int = 64_000_000
    event: int = 4_000_000
    body: int = 8_000_000
    refusal: int = 200_000
    characters: int = 4_000_000
    blocks: int = 512
    calls: int = 128
    depth: int = 64


class LimitExceeded(Exception):
    """A response exceeds a limit, or cannot be measured."""


class StreamStalled(Exception):
    """No event came within the idle time."""
