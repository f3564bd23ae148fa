"""Plans which places of a request get a breakpoint, and how long each is cached.

A breakpoint writes the prefix before it, and reads the longest prefix that was written at its
place or up to 20 blocks before it. So a place where the last request had a breakpoint is marked
again, and is found however many blocks were added since:

- *newest*: the end of the request, which the next one will read. - *anchor*: the end of the last
message of a person that was sent before. With long pauses, the prefix
  before it is cached for an hour and the tool loop after it for five minutes, so that the first
  request after a pause reads it.
- *last*: the end of the request before this one.
- *stable*: the end of tools and system prompt, read by other sessions, and by this one after its
  history was rewritten.
- *older*: the end of the request before that, in case the last one failed or went to another model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Literal, TypeAlias

from hookline_hookspecs import Marker, WireRequest

from .request_layout import AFTER_SYSTEM, MESSAGES, Place, RequestLayout, as_marker

MAX_MARKERS = 4

Ttl: TypeAlias = Literal["5m", "1h"]
Mode: TypeAlias = Literal["5m", "1h", "split"]
"""``split``: an hour up to the newest message of a person, five minutes after it."""


def plan(
    wire: WireRequest, mode: Mode, smallest: float, *, last: bool = False, cold: bool = False
) -> tuple[Marker, ...]:
    """Return the markers of ``wire`` and new ones, up to four in total.

    ``smallest`` is the size in bytes from which a prefix is cached. All markers for an hour come
    before those for five minutes. The end of a request that is probably the ``last`` of its session
    is not marked. If the history is ``cold``, only tools and system prompt are marked.
    """
    layout = RequestLayout(wire)
    existing = _existing_markers(layout, wire)
    free = MAX_MARKERS - len(existing)
    hour_until = _hour_until(layout, wire, mode)
    planned: dict[Place, Ttl] = {}
    for place in _candidates(layout, wire, mode, last, cold):
        if len(planned) >= free:
            break
        if place in planned or place in existing or layout.size(place) < smallest:
            continue
        ttl = _allowed_ttl(place, "1h" if place <= hour_until else "5m", existing)
        if ttl is not None:
            planned[place] = ttl
    added = [as_marker(place, planned[place]) for place in sorted(planned)]
    return (*wire.markers, *added)


def takes_markers(wire: WireRequest) -> bool:
    """Whether the wire supports markers."""
    return RequestLayout(wire).takes_markers


def _candidates(
    layout: RequestLayout, wire: WireRequest, mode: Mode, last: bool, cold: bool
) -> Iterable[Place]:
    """Yield the places worth a breakpoint, in order of priority."""
    stable = layout.before(MESSAGES)
    if "tool_choice" in wire.fields or cold:
        # Only the turn's last request has the field. It changes the cache key of
        # messages, so that nothing is found there and nothing written there is read again.
        return [stable] if stable else []
    newest = None if last else layout.before(layout.end)
    ends = [layout.before(part) for part in islice(layout.request_ends(), 2)]
    previous, older = (*ends, None, None)[:2]
    anchor = None if mode == "5m" or _has_call_text(wire) else _anchor(layout)
    found = (newest, anchor, previous, stable, older)
    return [place for place in found if place is not None]


def _anchor(layout: RequestLayout) -> Place | None:
    """Return the end of the latest message of a person that an earlier request has sent."""
    starts = (part for part in layout.turn_starts() if part < layout.end - 1)
    part = next(starts, None)
    return None if part is None else layout.before(part + 1)


def _hour_until(layout: RequestLayout, wire: WireRequest, mode: Mode) -> Place:
    """Return the last place that is cached for an hour."""
    if mode == "5m":
        return (-1, -1)
    if _has_call_text(wire):
        # The messages follow text for this turn only, so they are not read again.
        return AFTER_SYSTEM
    if mode == "1h":
        return (layout.end, 0)
    part = next(iter(layout.turn_starts()), MESSAGES - 1)
    return (part + 1, -1)


def _has_call_text(wire: WireRequest) -> bool:
    return bool(wire.fields.get("system"))


def _existing_markers(layout: RequestLayout, wire: WireRequest) -> Mapping[Place, Sequence[Ttl]]:
    """Return the markers that a caller has set, by place: in the wire, in system text of this call,
    and in the field that makes the server mark the last block."""
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


def _allowed_ttl(place: Place, ttl: Ttl, existing: Mapping[Place, Sequence[Ttl]]) -> Ttl | None:
    """Return the TTL that keeps the order of the existing markers; None if neither does."""
    short_before = any("5m" in ttls for other, ttls in existing.items() if other < place)
    hour_after = any("1h" in ttls for other, ttls in existing.items() if other > place)
    if short_before and hour_after:
        return None
    return "5m" if short_before else "1h" if hour_after else ttl
