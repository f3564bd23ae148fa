"""Wrong arguments of every JSON type: each gives an error sentence and changes nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hookline.testing import calls
from hookline_hookspecs import ToolCall
from hypothesis import given
from hypothesis import strategies as st
from support.matrices import sampled

ODD = [None, True, 0, -1.5, 10**400, "", "  ", "nonsense", [], [1], {}, {"a": 1}]


@pytest.mark.long
@sampled("value", ODD)
@pytest.mark.parametrize(
    ("action", "name"),
    [
        ("add", "content"),
        ("replace", "old_text"),
        ("replace", "content"),
        ("remove", "old_text"),
        ("remember", "content"),
        ("forget", "old_text"),
        ("recall", "query"),
        ("batch", "operations"),
    ],
)
def test_error_names_a_required_argument_of_the_wrong_kind(
    memory: Any, action: str, name: str, value: Any
) -> None:
    fine = {"content": "tea", "old_text": "tea", "query": "tea"}
    given = {**fine, name: value} if action != "batch" else {name: value}
    result = memory.call(action, **given)
    if value == "nonsense" and action in ("add", "remember", "recall"):
        assert result.ok
        return
    assert not result.ok
    assert result.text.startswith("Error: ")
    assert "failed:" not in result.text
    assert (
        name.rstrip("s") in result.text
        or "no note contains" in result.text
        or "no fact" in result.text
    )


@pytest.mark.parametrize("days", [0, -1, float("nan"), float("inf"), "30", True, [], {}, 10**400])
def test_ttl_days_must_be_a_positive_finite_number(memory: Any, days: Any) -> None:
    error = memory.error("remember", content="x y z", ttl_days=days)
    assert "ttl_days must be a positive number of days" in error
    assert "Facts of this chat: 0" in memory.harness.send("/memory").text


@pytest.mark.parametrize("category", ["", "secret", 3, [], True])
def test_category_is_one_of_three(memory: Any, category: Any) -> None:
    error = memory.error("remember", content="x y z", category=category)
    assert "category must be one of profile, knowledge, event" in error


def test_wrong_actions_and_names_give_an_error_sentence(memory: Any) -> None:
    assert "action must be one of add, replace" in memory.error("save", content="x")
    (result,) = memory.calls(calls("memory", content="x"))
    assert "action" in result.text
    assert "did you mean content?" in memory.error("add", contents="x")
    assert "it takes action" in memory.error("add", content="x", zzz=1)
    assert "operations belong to action batch" in memory.error("add", content="x", operations=[])
    assert "ttl_days is for remember" in memory.error("add", content="x", ttl_days=3)
    nested = [{"action": "batch", "operations": []}]
    assert "operation 1" in memory.error("batch", operations=nested)
    assert "operation 1" in memory.error("batch", operations=[{"action": "recall", "query": "x"}])
    assert "at most 50" in memory.error("batch", operations=[{"action": "add"}] * 51)
    assert "into an operation" in memory.error("batch", operations=nested, content="x")


def test_argument_names_used_in_python_do_not_crash(memory: Any) -> None:
    for name in ("self", "ctx", "arguments", "host"):
        call = ToolCall("", "memory", {"action": "add", "content": "x", name: 1})
        (result,) = memory.calls(call)
        assert "failed:" not in result.text


def test_null_equals_omitted_and_operations_may_be_json_text(memory: Any) -> None:
    memory.text("add", content="tea", old_text=None, ttl_days=None, operations=None)
    memory.text("batch", operations='[{"action": "remove", "old_text": "tea"}]')
    assert memory.entries() == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)
NAMES = ["action", "content", "old_text", "query", "category", "ttl_days", "operations", "other"]


@pytest.mark.slow
@given(
    st.dictionaries(
        st.sampled_from(NAMES),
        JSON | st.sampled_from(["add", "remove", "remember", "batch", "recall", "profile"]),
    )
)
def test_any_arguments_get_an_answer(memory: Any, arguments: dict[str, Any]) -> None:
    (result,) = memory.calls(ToolCall("", "memory", arguments))
    assert "failed:" not in result.text
    assert result.text
