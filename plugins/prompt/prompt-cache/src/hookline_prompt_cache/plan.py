"""Plans which places of a request get a breakpoint, and how long each is cached.

A breakpoint writes what comes before it, and reads the longest prefix that was written at its own
place or up to 20 blocks before it. So a place where the last request had a breakpoint is marked
again and never missed, however many blocks have been added since:

- *newest*: the end of the request, which the next one will read.
- *anchor*: the end of the last message of a person that was sent before. Where people take their
  time, what comes before it is kept for an hour and what follows, the tool loop, for five minutes;
  so it is what the first request after a pause reads.
- *last*: the end of the request before this one.
- *stable*: the end of tools and system prompt, which other sessions, and this one after its history
  has been rewritten, read.
- *older*: the end of the request before that, in case the last one failed or went to another model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Literal, TypeAlias

from hookline_hookspecs import Marker, WireRequest

from .layout import AFTER_SYSTEM, MESSAGES, Layout, Place, as_marker

MAX_MARKERS = 4

Ttl: TypeAlias = Literal["5m", "1h"]
Mode: TypeAlias = Literal["5m", "1h", "split"]
"""``split``: an hour up to the newest message of a person, five minutes for what follows."""


def plan(
    wire: WireRequest, mode: Mode, smallest: float, *, last: bool = False, cold: bool = False
) -> tuple[Marker, ...]:
    """The markers of ``wire``: those it has, and up to four in all.

    ``smallest`` is the size in bytes from which a prefix is cached. Markers for an hour come before
    those for five minutes, the given ones included. The end of a request that is probably the
    ``last`` of its session is not marked, and nothing but tools and system prompt if its history
    is ``cold``.
    """
    layout = Layout(wire)
    given = _given(layout, wire)
    free = MAX_MARKERS - len(given)
    hour_until = _hour_until(layout, wire, mode)
    planned: dict[Place, Ttl] = {}
    for place in _wanted(layout, wire, mode, last, cold):
        if len(planned) >= free:
            break
        if place in planned or place in given or layout.size(place) < smallest:
            continue
        ttl = _fitting(place, "1h" if place <= hour_until else "5m", given)
        if ttl is not None:
            planned[place] = ttl
    added = [as_marker(place, planned[place]) for place in sorted(planned)]
    return (*wire.markers, *added)


def takes_markers(wire: WireRequest) -> bool:
    """Whether the wire supports markers."""
    return Layout(wire).takes_markers


def _wanted(
    layout: Layout, wire: WireRequest, mode: Mode, last: bool, cold: bool
) -> Iterable[Place]:
    """Yield the places worth a breakpoint, in order of priority."""
    stable = layout.before(MESSAGES)
    if "tool_choice" in wire.fields or cold:
        # Only the turn's last request has the field. It changes how messages are cached, so that
        # nothing is found there, and nothing that it wrote would be found again.
        return [stable] if stable else []
    newest = None if last else layout.before(layout.end)
    ends = [layout.before(part) for part in islice(layout.request_ends(), 2)]
    previous, older = (*ends, None, None)[:2]
    anchor = None if mode == "5m" or _of_this_call(wire) else _anchor(layout)
    found = (newest, anchor, previous, stable, older)
    return [place for place in found if place is not None]


def _anchor(layout: Layout) -> Place | None:
    """Return the end of the latest message of a person that an earlier request has sent."""
    starts = (part for part in layout.turn_starts() if part < layout.end - 1)
    part = next(starts, None)
    return None if part is None else layout.before(part + 1)


def _hour_until(layout: Layout, wire: WireRequest, mode: Mode) -> Place:
    """Return the last place that is cached for an hour."""
    if mode == "5m":
        return (-1, -1)
    if _of_this_call(wire):
        # The messages follow text for this turn only: they will not be read again.
        return AFTER_SYSTEM
    if mode == "1h":
        return (layout.end, 0)
    part = next(iter(layout.turn_starts()), MESSAGES - 1)
    return (part + 1, -1)


def _of_this_call(wire: WireRequest) -> bool:
    return bool(wire.fields.get("system"))


def _given(layout: Layout, wire: WireRequest) -> Mapping[Place, Sequence[Ttl]]:
    """The markers that a caller has set, by place: in the wire, in system text of this call and
    in the field that lets the server mark the last block itself."""
    found: dict[Place, list[Ttl]] = {}
    for marker in wire.markers:
        place = layout.place_of(marker)
        if place is not None:
            found.setdefault(place, []).append(marker.ttl)
    texts = wire.fields.get("system")
    for number, block in enumerate(texts if isinstance(texts, list) else []):
        if isinstance(block, Mapping) and block.get("cache_control"):
            place = (AFTER_SYSTEM[0], AFTER_SYSTEM[1] + number)
            found.setdefault(place, []).append(_ttl(block["cache_control"]))
    if automatic := wire.fields.get("cache_control"):
        end = layout.before(layout.end) or AFTER_SYSTEM
        found.setdefault(end, []).append(_ttl(automatic))
    return found


def _ttl(control: object) -> Ttl:
    return "1h" if isinstance(control, Mapping) and control.get("ttl") == "1h" else "5m"


def _fitting(place: Place, ttl: Ttl, given: Mapping[Place, Sequence[Ttl]]) -> Ttl | None:
    """Return the TTL that keeps the order among the given markers; None if none does."""
    short_before = any("5m" in ttls for other, ttls in given.items() if other < place)
    hour_after = any("1h" in ttls for other, ttls in given.items() if other > place)
    if short_before and hour_after:
        return None
    return "5m" if short_before else "1h" if hour_after else ttl
