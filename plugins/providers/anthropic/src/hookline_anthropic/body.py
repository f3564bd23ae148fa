"""The request body: fields, tools, system and messages, with the cache breakpoints in place.

Each breakpoint goes on its block, or on the nearest earlier one that can carry it. Parts are joined
as bytes and never encoded again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from hookline_hookspecs import Fragment, Marker, WireRequest

from .encode import to_json

MAX_MARKERS = 4
"""The API's limit of ``cache_control`` markers in a request."""

Place: TypeAlias = tuple[int, int]
"""Part and block. The parts are the tools (0), the system prompt (1) and the messages (from 2)."""

MARKER_JSON = {
    "5m": b',"cache_control":{"type":"ephemeral"}',
    "1h": b',"cache_control":{"type":"ephemeral","ttl":"1h"}',
}


_JOINED_FIELDS = ("tools", "system", "messages")


def join_body(wire: WireRequest) -> bytes:
    """Return the bytes of ``POST /v1/messages`` for a rendered request.

    A list of text blocks in ``fields["system"]`` follows the stable system prompt.
    """
    inserts: dict[int, list[tuple[int, bytes]]] = {}
    for (number, block), text in place_markers(wire).items():
        inserts.setdefault(number, []).append((block, text))
    parts = [_part(wire, 0), _part(wire, 1), *wire.fragments]
    for number, marks in inserts.items():
        parts[number] = _with_markers(parts[number], marks)
    fields = to_json({k: v for k, v in wire.fields.items() if k not in _JOINED_FIELDS})
    joined = [fields[:-1]]
    if len(parts[0]) > len(b"[]"):
        joined += [b',"tools":', parts[0]]
    system = _system(parts[1], wire)
    if system:
        joined += [b',"system":', system]
    joined += [b',"messages":[', b",".join(parts[2:]), b"]}"]
    return b"".join(joined)


def _system(stable: bytes, wire: WireRequest) -> bytes:
    added = wire.fields.get("system")
    lists = [stable, to_json(added) if added else b""]
    blocks = b",".join(blocks[1:-1] for blocks in lists if len(blocks) > len(b"[]"))
    return b"[%s]" % blocks if blocks else b""


def _with_markers(data: bytes, inserts: list[tuple[int, bytes]]) -> bytes:
    cuts = _cuts(data)
    for block, text in sorted(inserts, reverse=True):
        data = data[: cuts[block]] + text + data[cuts[block] :]
    return data


def _part(wire: WireRequest, number: int) -> bytes:
    if number < 2:
        return wire.stable.get(("tools", "system")[number], b"")
    return wire.fragments[number - 2]


def _cuts(part: bytes) -> tuple[int, ...]:
    return part.cuts if isinstance(part, Fragment) else ()


def place_markers(wire: WireRequest) -> dict[Place, bytes]:
    """Return what is inserted where; of more than :data:`MAX_MARKERS` the latest stay."""
    placed: dict[Place, str] = {}
    for marker in wire.markers:
        place = next(_places_back_from(wire, marker), None)
        if place is not None and placed.get(place) != "1h":
            placed[place] = marker.ttl
    return {place: MARKER_JSON[placed[place]] for place in sorted(placed)[-MAX_MARKERS:]}


def _places_back_from(wire: WireRequest, marker: Marker) -> Iterator[Place]:
    start = _part_number(wire, marker.fragment)
    for number in range(start, -1, -1):
        cuts = _cuts(_part(wire, number))
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
