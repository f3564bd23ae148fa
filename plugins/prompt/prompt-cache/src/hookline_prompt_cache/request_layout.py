"""The places of a rendered request that can carry a breakpoint, in the order a cache reads them.

A place is ``(part, block)``. The parts are the tools (0), the system prompt (1) and the messages
(from 2).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import TypeAlias

from hookline_hookspecs import Fragment, Marker, WireRequest

Place: TypeAlias = tuple[int, int]

TOOLS, SYSTEM, MESSAGES = 0, 1, 2
"""The first two parts, and the first message's number."""
AFTER_SYSTEM: Place = (SYSTEM, 1 << 30)
"""System text for this call only comes after every block of the stable system prompt."""

_ASSISTANT = re.compile(rb'\s*\{\s*"role"\s*:\s*"assistant"')
_RESULTS = re.compile(
    rb'\s*\{\s*"role"\s*:\s*"user"\s*,\s*"content"\s*:\s*\[\s*\{\s*"type"\s*:'
    rb'\s*"tool_result"'
)


class RequestLayout:
    """The parts of one request. ``end`` is the number of parts."""

    def __init__(self, wire: WireRequest) -> None:
        stable = (wire.stable.get("tools", b""), wire.stable.get("system", b""))
        self._parts: tuple[bytes, ...] = (*stable, *wire.fragments)
        self.end = len(self._parts)

    @property
    def takes_markers(self) -> bool:
        """Whether the wire supports markers."""
        return any(_cuts(part) for part in (*self._parts[:MESSAGES], *self._parts[-1:]))

    def before(self, part: int) -> Place | None:
        """Return the last place before ``part`` that may carry a marker, or None."""
        for number in range(min(part, self.end) - 1, -1, -1):
            cuts = _cuts(self._parts[number])
            for block in range(len(cuts) - 1, -1, -1):
                if cuts[block] >= 0:
                    return number, block
        return None

    def size(self, place: Place) -> int:
        """Return the bytes up to the end of the block at ``place``."""
        part, block = place
        inside = _cuts(self._parts[part])[block] + 1
        if part <= MESSAGES:
            return sum(map(len, self._parts[:part])) + inside
        # Most places are near the end of many messages.
        return self._total - sum(map(len, self._parts[part:])) + inside

    @cached_property
    def _total(self) -> int:
        return sum(map(len, self._parts))

    def request_ends(self) -> Iterator[int]:
        """Yield the parts before which earlier requests of this conversation ended, latest first.

        These are the assistant's messages.
        """
        for number in range(self.end - 1, MESSAGES, -1):
            if _speaker(self._parts[number]) == "assistant":
                yield number

    def turn_starts(self) -> Iterator[int]:
        """Yield the numbers of a person's messages, latest first."""
        for number in range(self.end - 1, MESSAGES - 1, -1):
            if _speaker(self._parts[number]) == "user":
                yield number

    def place_of(self, marker: Marker) -> Place | None:
        """Return the place of a caller's marker: its block, or the nearest possible one before
        it."""
        if isinstance(marker.fragment, str):
            part = TOOLS if marker.fragment == "tools" else SYSTEM
        else:
            count = self.end - MESSAGES
            index = marker.fragment if marker.fragment >= 0 else count + marker.fragment
            part = MESSAGES + min(max(index, -1), count - 1)
        cuts = _cuts(self._parts[part])
        block = marker.block if marker.block >= 0 else len(cuts) + marker.block
        block = block if 0 <= block < len(cuts) else len(cuts) - 1
        while block >= 0 and cuts[block] < 0:
            block -= 1
        return (part, block) if block >= 0 else self.before(part)


def as_marker(place: Place, ttl: str) -> Marker:
    """Return the marker for a place."""
    part, block = place
    fragment: str | int = part - MESSAGES if part >= MESSAGES else ("tools", "system")[part]
    return Marker(fragment, block, "1h" if ttl == "1h" else "5m")


def _speaker(part: bytes) -> str:
    """Return who a message is from; parsed from its bytes if the provider does not say."""
    if isinstance(part, Fragment) and part.role:
        return part.role
    if _ASSISTANT.match(part):
        return "assistant"
    return "tool" if _RESULTS.match(part) else "user"


def _cuts(part: bytes) -> tuple[int, ...]:
    return part.cuts if isinstance(part, Fragment) else ()
