"""The circuit breaker and the note about a repeated result."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hookline.testing import calls
from hookline_hookspecs import ToolCall, ToolResultBlock
from hypothesis import given, settings
from hypothesis import strategies as st

from .conftest import SAME, Bench, look, refused


def test_fourth_equal_call_is_refused(bench: Bench) -> None:
    texts = bench.one_by_one(*[look()] * 5)
    assert [refused(text) for text in texts] == [False, False, False, True, True]
    assert bench.ran == 3


def test_equal_calls_are_counted_within_one_response(bench: Bench) -> None:
    texts = bench.turn([look("a"), look(), look(), look("b"), look(), look(), look("c")])
    assert [refused(text) for text in texts] == [False] * 5 + [True, False]
    assert bench.ran == 6


def test_equal_calls_are_counted_across_responses(bench: Bench) -> None:
    texts = bench.turn([calls("act")] * 5)
    assert [refused(text) for text in texts] == [False, False, False, True, True]


def test_parallel_calls_keep_their_own_results(bench: Bench) -> None:
    bench.turn([look()] * 12, [look("else")])
    for message, answer in zip(*[iter(bench.harness.model.last.messages[1:])] * 2, strict=False):
        asked = [block.id for block in message.blocks if isinstance(block, ToolCall)]
        told = [block.call_id for block in answer.blocks if isinstance(block, ToolResultBlock)]
        assert asked == told


@pytest.mark.parametrize(
    "same",
    [
        {"at": "here", "deep": False},
        {"deep": "no", "at": "here"},
        {"at": "here", "within": None},
        {},
    ],
)
def test_arguments_are_compared_by_meaning(bench: Bench, same: dict[str, object]) -> None:
    texts = bench.one_by_one(look(), calls("look", **same), look(), calls("look", **same))
    assert refused(texts[3])


@pytest.mark.parametrize("other", [{"at": "here "}, {"deep": True}, {"within": 0}])
def test_other_arguments_are_a_different_call(bench: Bench, other: dict[str, object]) -> None:
    texts = bench.one_by_one(look(), look(), look(), calls("look", **other))
    assert not refused(texts[3])


def test_calls_before_the_window_are_forgotten(bench: Bench) -> None:
    between = [look(str(number)) for number in range(7)]
    texts = bench.one_by_one(look(), look(), look(), *between, look())
    assert not refused(texts[-1])
    texts = bench.one_by_one(look(), look(), look(), *between[:6], look())
    assert refused(texts[-1])


def test_call_count_is_reset_by_the_next_turn(bench: Bench) -> None:
    bench.one_by_one(*[look()] * 4)
    assert not any(refused(text) for text in bench.one_by_one(*[look()] * 3))


@pytest.mark.slow
def test_window_of_zero_switches_the_breaker_off(make_bench: Callable[..., Bench]) -> None:
    texts = make_bench(window=0).one_by_one(*[calls("count")] * 30)
    assert not any(text.startswith("Denied") for text in texts)


def test_fetching_an_artifact_is_exempt(bench: Bench) -> None:
    texts = bench.turn([calls("fetch_artifact", id="x")] * 8)
    assert not any(refused(text) for text in texts)


def test_sub_agent_has_its_own_counts(bench: Bench) -> None:
    model = bench.harness.model
    model.steps += [
        [look(), look(), look()],
        [calls("hand_over")],
        [look()] * 4,
        "done",
        [look()],
        "done",
    ]
    results = bench.harness.send("go").tool_calls
    inside = results[3].text.split("\n")
    assert [refused(line) for line in inside if line.startswith(("seen", "Denied"))] == [
        False,
        False,
        False,
        True,
    ]
    assert refused(results[4].text)


def test_unknown_tools_and_wrong_arguments_get_their_own_error(bench: Bench) -> None:
    texts = bench.turn([calls("nothing"), calls("look", deep="perhaps")] * 6)
    assert all(text.startswith("Error: ") for text in texts)


@pytest.mark.long
@settings(max_examples=30)
@given(asked=st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=6), max_size=4))
def test_equal_call_runs_at_most_three_times_within_ten(
    bench: Bench, asked: list[list[str]]
) -> None:
    texts = bench.turn(*([look(place) for place in response] for response in asked))
    order = [place for response in asked for place in response]
    for number, text in enumerate(texts):
        window = order[max(0, number - 9) : number + 1]
        assert refused(text) == (window.count(order[number]) > 3)


# No progress


def test_second_equal_result_gets_a_note(bench: Bench) -> None:
    texts = bench.one_by_one(look(), look("there"), look())
    assert [SAME in text for text in texts] == [False, False, True]


def test_second_equal_parallel_result_gets_a_note(bench: Bench) -> None:
    texts = bench.turn([look(), look()])
    assert sum(SAME in text for text in texts) == 1


def test_new_result_gets_no_note(bench: Bench) -> None:
    texts = bench.one_by_one(*[calls("count")] * 3)
    assert not any(SAME in text for text in texts)


def test_writing_tool_gets_no_note(bench: Bench) -> None:
    texts = bench.one_by_one(*[calls("act")] * 3)
    assert not any(SAME in text for text in texts)


def test_results_are_compared_before_they_are_cut(bench: Bench) -> None:
    texts = bench.turn([calls("long"), calls("long")], [calls("long", grow=False)])
    assert [SAME in text for text in texts].count(True) == 2
    assert all(len(text) < 400 for text in texts)


def test_results_that_differ_only_in_the_cut_part_are_different(bench: Bench) -> None:
    texts = bench.one_by_one(calls("long", grow=True), calls("long", grow=True))
    assert texts == ["x" * 100] * 2


def test_denial_does_not_count_as_a_result(make_bench: Callable[..., Bench]) -> None:
    texts = make_bench(window=2, repeats=1).one_by_one(look(), look(), look("b"), look())
    assert refused(texts[1])
    assert SAME not in texts[1]
    assert SAME in texts[3]
