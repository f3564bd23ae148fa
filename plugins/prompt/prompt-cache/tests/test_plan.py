"""The planner over generated conversations: each request reads what the last one sent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hookline_hookspecs import Fragment, Marker, WireRequest
from hookline_prompt_cache.plan import MAX_MARKERS, Mode, plan
from hypothesis import given
from hypothesis import strategies as st

from .conftest import MODEL, fragment, message, text
from .wire_cache import WireCache, block_before

THINKING = {"type": "thinking", "thinking": "hm"}
MODES: st.SearchStrategy[Mode] = st.sampled_from(["5m", "1h", "split"])


def results(count: int, number: int) -> Fragment:
    return message(
        "user", *({"type": "tool_result", "content": f"{number}.{n}"} for n in range(count))
    )


def uses(count: int, number: int, *, thinking: bool) -> Fragment:
    blocks = [{"type": "tool_use", "name": f"{number}.{n}"} for n in range(count)]
    return message("assistant", *([THINKING] if thinking else []), *blocks)


@st.composite
def turns(draw: st.DrawFn) -> list[list[Fragment]]:
    """Turns of a conversation, each a list of messages that begins with a person's."""
    found, number = [], 0
    for _ in range(draw(st.integers(1, 5))):
        said = [text(f"say {number} {n}") for n in range(draw(st.integers(1, 45)))]
        turn = [message("user", *said)]
        for _ in range(draw(st.integers(0, 3))):
            number += 1
            count = draw(st.integers(1, 45))
            turn += [uses(count, number, thinking=draw(st.booleans())), results(count, number)]
        number += 1
        last = [text(f"answer {number} {n}") for n in range(draw(st.integers(1, 30)))]
        turn.append(message("assistant", *last))
        found.append(turn)
    return found


def wire(*fragments: Fragment, markers: tuple[Marker, ...] = (), **fields: Any) -> WireRequest:
    stable = {
        "tools": fragment("[", [{"type": "tool", "name": "look"}], "]"),
        "system": fragment("[", [text("Be brief. " * 50)], "]"),
    }
    return WireRequest("anthropic", fields, fragments, markers, stable, MODEL)


def requests(conversation: list[list[Fragment]]) -> list[list[WireRequest]]:
    """The requests of each turn: one before each answer of the model."""
    sent: list[Fragment] = []
    by_turn = []
    for turn in conversation:
        group = []
        for one in turn:
            if one.startswith(b'{"role":"assistant"'):
                group.append(wire(*sent))
            sent.append(one)
        by_turn.append(group)
    return by_turn


def planned(asked: WireRequest, mode: Mode, smallest: float = 0) -> WireRequest:
    return replace(asked, markers=plan(asked, mode, smallest))


@given(turns(), MODES)
def test_next_request_reads_all_that_the_last_one_sent(
    conversation: list[list[Fragment]], mode: Mode
) -> None:
    cache, before = WireCache(), 0
    for asked in [one for group in requests(conversation) for one in group]:
        read = cache.send(planned(asked, mode), now=0)
        if before:
            assert read == block_before(asked, before)
        before = len(asked.fragments)


@given(turns())
def test_request_after_a_pause_reads_up_to_the_last_user_message(
    conversation: list[list[Fragment]],
) -> None:
    cache, now, before = WireCache(), 0.0, 0
    for group in requests(conversation):
        for number, asked in enumerate(group):
            read = cache.send(planned(asked, "split"), now)
            if before and not number:
                assert read == block_before(asked, before)
        before = len(group[0].fragments)
        now += 3000


@given(turns())
def test_hour_long_ttl_keeps_the_tool_loop_over_a_pause(conversation: list[list[Fragment]]) -> None:
    cache, now, before = WireCache(), 0.0, 0
    for group in requests(conversation):
        for asked in group:
            read = cache.send(planned(asked, "1h"), now)
            if before:
                assert read == block_before(asked, before)
            before = len(asked.fragments)
        now += 3000


@given(turns(), MODES, st.data())
def test_markers_have_an_order_and_number_that_the_server_accepts(
    conversation: list[list[Fragment]], mode: Mode, data: st.DataObject
) -> None:
    asked = data.draw(st.sampled_from([one for group in requests(conversation) for one in group]))
    count = len(asked.fragments)
    places: list[str | int] = ["tools", "system", *range(count)]
    ordered = sorted(
        data.draw(st.lists(st.sampled_from(places), max_size=5, unique=True)), key=places.index
    )
    long = data.draw(st.integers(0, len(ordered)))
    given_ = tuple(
        Marker(spot, -1, "1h" if number < long else "5m") for number, spot in enumerate(ordered)
    )
    found = plan(replace(asked, markers=given_), mode, 0)
    assert found[: len(given_)] == given_
    resolved: dict[tuple[int, int], set[str]] = {}
    for marker in found:
        resolved.setdefault(_place(asked, marker), set()).add(marker.ttl)
    added = {_place(asked, marker) for marker in found[len(given_) :]}
    assert len(added) == len(found) - len(given_)
    assert not added or len(resolved) <= MAX_MARKERS
    assert all(_cut(asked, place) >= 0 for place in added)
    for place in added:
        (ttl,) = resolved[place]
        if ttl == "1h":
            assert not any("5m" in ttls for other, ttls in resolved.items() if other < place)
        else:
            assert not any("1h" in ttls for other, ttls in resolved.items() if other > place)


def _place(asked: WireRequest, marker: Marker) -> tuple[int, int]:
    """The block of a marker, or the nearest one before it that bears one."""
    parts = _parts(asked)
    if isinstance(marker.fragment, str):
        part = ("tools", "system").index(marker.fragment)
    else:
        part = marker.fragment % len(asked.fragments) + 2
    block = marker.block % len(parts[part].cuts)
    while parts[part].cuts[block] < 0:
        block -= 1
    return part, block


def _cut(asked: WireRequest, place: tuple[int, int]) -> int:
    return _parts(asked)[place[0]].cuts[place[1]]


def _parts(asked: WireRequest) -> list[Any]:
    return [asked.stable["tools"], asked.stable["system"], *asked.fragments]


@given(turns(), MODES, st.integers(0, 20_000))
def test_short_prefix_gets_no_marker(
    conversation: list[list[Fragment]], mode: Mode, smallest: int
) -> None:
    asked = requests(conversation)[-1][-1]
    for marker in plan(asked, mode, smallest):
        part, block = _place(asked, marker)
        parts = _parts(asked)
        size = sum(map(len, parts[:part])) + parts[part].cuts[block] + 1
        assert size >= smallest


def test_split_mode_keeps_only_the_tool_loop_for_five_minutes() -> None:
    asked = wire(
        message("user", text("first")),
        message("assistant", text("answer")),
        message("user", text("second"), text("<context/>")),
        uses(2, 1, thinking=False),
        results(2, 1),
        uses(1, 2, thinking=False),
        results(1, 2),
    )
    assert plan(asked, "split", 0) == (
        Marker("system", 0, "1h"),
        Marker(2, 1, "1h"),
        Marker(4, 1, "5m"),
        Marker(6, 0, "5m"),
    )


@pytest.mark.parametrize("mode", ["split", "1h"])
def test_ephemeral_system_text_leaves_the_anchor_to_others(mode: Mode) -> None:
    asked = wire(
        message("user", text("first")),
        message("assistant", text("answer")),
        message("user", text("second")),
        system=[text("Only now.")],
    )
    markers = plan(asked, mode, 0)
    assert markers[0] == Marker("system", 0, "1h")
    assert {marker.ttl for marker in markers[1:]} == {"5m"}


def test_markers_of_ephemeral_system_text_count() -> None:
    own = [{**text("Only now."), "cache_control": {"type": "ephemeral"}}] * 3
    asked = wire(message("user", text("first")), system=own)
    assert plan(asked, "5m", 0) == (Marker(0, 0, "5m"),)


def test_last_request_of_a_turn_marks_only_the_stable_part() -> None:
    asked = wire(message("user", text("first")), tool_choice={"type": "none"})
    assert plan(asked, "split", 0) == (Marker("system", 0, "1h"),)
