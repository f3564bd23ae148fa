"""Where cache breakpoints go: each on its place, or on the nearest earlier one that can bear it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from hookline_hookspecs import Marker, WireRequest

MOST = 4
"""The API's largest number of ``cache_control`` markers in a request."""

Place: TypeAlias = tuple[int, int]
"""Part and block. The parts are the tools (0), the system prompt (1) and the messages (from 2)."""

TEXT = {
    "5m": b',"cache_control":{"type":"ephemeral"}',
    "1h": b',"cache_control":{"type":"ephemeral","ttl":"1h"}',
}


def part(wire: WireRequest, number: int) -> bytes:
    """The bytes of a part."""
    if number < 2:
        return wire.stable.get(("tools", "system")[number], b"")
    return wire.fragments[number - 2]


def place_markers(wire: WireRequest) -> dict[Place, bytes]:
    """What is inserted where; of more than :data:`MOST` the latest stay."""
    placed: dict[Place, str] = {}
    for marker in wire.markers:
        place = next(_places_back_from(wire, marker), None)
        if place is not None and placed.get(place) != "1h":
            placed[place] = marker.ttl
    return {place: TEXT[placed[place]] for place in sorted(placed)[-MOST:]}


def _places_back_from(wire: WireRequest, marker: Marker) -> Iterator[Place]:
    start = _part_number(wire, marker.fragment)
    for number in range(start, -1, -1):
        cuts: tuple[int, ...] = getattr(part(wire, number), "cuts", ())
        last = len(cuts) - 1
        if number == start and -len(cuts) <= marker.block <= last:
            last = marker.block if marker.block >= 0 else len(cuts) + marker.block
        for block in range(last, -1, -1):
            if cuts[block] >= 0:
                yield number, block


def _part_number(wire: WireRequest, fragment: str | int) -> int:
    if isinstance(fragment, str):
        return 0 if fragment == "tools" else 1
    count = len(wire.fragments)
    index = fragment if fragment >= 0 else count + fragment
    return 2 + min(max(index, -1), count - 1)
