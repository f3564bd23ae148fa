"""How much a step changed its event."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hookline_hookspecs import Message, ModelRequest, ToolCall, ToolResult
from hookline_inspect.changes import describe_change, extent
from hypothesis import given
from hypothesis import strategies as st

RESULT = ToolResult(ToolCall("1", "look", {"path": "a"}), "one two three")
VALUES = st.recursive(
    st.none() | st.integers() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(st.text(), inner),
)


def test_text_change_is_measured_from_first_to_last_difference() -> None:
    changed = replace(RESULT, text="one 2 three")
    assert describe_change(RESULT, changed) == {"fields": ["text"], "removed": 3, "added": 1}
    assert describe_change(RESULT, replace(RESULT, notes=("hint",))) == {
        "fields": ["notes"],
        "removed": 0,
        "added": 4,
    }


def test_equal_event_and_duration_are_no_change() -> None:
    assert describe_change(RESULT, replace(RESULT, text="one two three")) is None
    assert describe_change(RESULT, replace(RESULT, seconds=3.0)) is None


def test_history_change_counts_only_changed_messages() -> None:
    said = tuple(Message.user(f"message {n}") for n in range(50))
    request = ModelRequest("m", "s", (), said)
    shorter = replace(request, messages=(*said[:10], Message.user("all of it"), *said[40:]))
    found = describe_change(request, shorter)
    assert found is not None
    assert found["fields"] == ["messages"]
    assert found["added"] < 40 < found["removed"]


@given(st.text(), st.text(), st.text(), st.text())
def test_extent_counts_at_most_the_replaced_text(start: str, old: str, new: str, end: str) -> None:
    removed, added = extent(start + old + end, start + new + end)
    assert 0 <= removed <= len(old)
    assert 0 <= added <= len(new)
    assert added - removed == len(new) - len(old)


@pytest.mark.slow
@given(VALUES, VALUES)
def test_extent_compares_any_two_values(one: Any, other: Any) -> None:
    assert extent(one, one) == (0, 0)
    forth, back = extent(one, other), extent(other, one)
    assert (forth[0], forth[1]) == (back[1], back[0])
