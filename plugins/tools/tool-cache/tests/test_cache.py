"""Which results come from the cache, for whom and for how long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import Clock, FakeChannel, calls
from hookline_hookspecs import Ask, Deny, ToolResult, ToolResultBlock

from .conftest import MARK, CachedTools


def test_equal_call_is_answered_from_the_cache_and_marked(bench: CachedTools) -> None:
    assert bench.call("price", item="tea") == "tea costs 1"
    again = bench.call("price", item="tea")
    assert again.startswith("tea costs 1\n\n" + MARK)
    assert bench.shop.ran == 1


def test_equal_call_in_the_same_turn_is_a_hit(bench: CachedTools) -> None:
    texts = [result.text for result in bench.turn(*[calls("price", item="tea")] * 3)]
    assert [MARK in text for text in texts] == [False, True, True]


def test_tool_without_a_ttl_is_run_each_time(bench: CachedTools) -> None:
    assert bench.call("fresh", item="tea") == "tea costs 1"
    assert bench.call("fresh", item="tea") == "tea costs 2"


@pytest.mark.parametrize(
    "same",
    [
        {"size": 1, "item": "tea"},
        {"item": "tea", "size": "1"},
        {"item": "tea", "at": None},
        {"item": "tea", "cold": False},
    ],
)
def test_equal_arguments_are_a_hit(bench: CachedTools, same: dict[str, Any]) -> None:
    bench.call("price", item="tea")
    assert MARK in bench.call("price", **same)


@pytest.mark.parametrize(
    "other", [{"item": "tea "}, {"item": "Tea"}, {"item": "tea", "size": 2}, {"item": "té"}]
)
def test_other_arguments_are_a_miss(bench: CachedTools, other: dict[str, Any]) -> None:
    bench.call("price", item="tea")
    assert MARK not in bench.call("price", **other)


def test_result_expires_after_its_ttl(bench: CachedTools, clock: Clock) -> None:
    bench.call("price", item="tea")
    clock.ahead(50)
    assert f"{MARK}50 s old" in bench.call("price", item="tea")
    clock.ahead(61)  # a hit does not make it last longer
    assert bench.call("price", item="tea") == "tea costs 2"


def test_result_expires_if_the_clock_is_set_back(bench: CachedTools, clock: Clock) -> None:
    bench.call("price", item="tea")
    clock.ahead(-3600)
    assert bench.call("price", item="tea") == "tea costs 2"


def test_failures_are_not_cached(bench: CachedTools) -> None:
    assert bench.call("failing", item="tea") == "Error: no tea for the 1. time"
    assert bench.call("failing", item="tea") == "Error: no tea for the 2. time"


def test_least_recently_used_results_are_dropped_first(
    make_bench: Callable[..., CachedTools],
) -> None:
    bench = make_bench(max_bytes=3_100)  # three results
    for number in (1, 2, 3):
        bench.call("big", number=number)
    assert MARK in bench.call("big", number=1)
    bench.call("big", number=4)
    hits = [MARK in bench.call("big", number=number) for number in (1, 3, 4)]
    assert hits == [True] * 3
    assert MARK not in bench.call("big", number=2)


@pytest.mark.parametrize("room", [0, 900])
def test_result_larger_than_the_cache_is_not_cached(
    make_bench: Callable[..., CachedTools], room: int
) -> None:
    bench = make_bench(max_bytes=room)
    bench.call("big", number=1)
    assert MARK not in bench.call("big", number=1)


def test_cached_result_keeps_notes_pictures_and_values(bench: CachedTools) -> None:
    first = bench.turn(calls("rich"))[0]
    again = bench.turn(calls("rich"))[0]
    assert again.text.startswith("text\n\nNote: a note\n\n" + MARK)
    assert (again.images, again.data) == (first.images, first.data)
    again.data["ran"] = "changed"
    assert bench.turn(calls("rich"))[0].data == {"ran": 1}


def test_cached_result_keeps_its_origins(bench: CachedTools) -> None:
    first = bench.turn(calls("page"))[0]
    again = bench.turn(calls("page"), session="another")[0]
    assert MARK in again.text
    assert again.origins == first.origins
    assert again.origins[0].source == "https://page.example"


def test_value_that_is_not_json_is_not_cached(bench: CachedTools) -> None:
    bench.call("odd")
    assert bench.call("odd") == "text"
    assert bench.shop.ran == 2


def test_changes_by_other_plugins_are_not_cached(bench: CachedTools) -> None:
    bench.shop.suffix = "!"
    assert bench.call("price", item="tea") == "tea costs 1!"
    assert bench.call("price", item="tea").startswith("tea costs 1!\n\n")
    bench.shop.suffix = ""
    assert bench.call("price", item="tea").startswith("tea costs 1\n\n")


def test_denied_call_is_not_answered_from_the_cache(bench: CachedTools) -> None:
    bench.call("price", item="tea")
    bench.shop.verdict = Deny("closed")
    assert bench.call("price", item="tea") == "Denied: closed"


def test_call_that_needed_approval_is_run(bench: CachedTools) -> None:
    bench.call("price", item="tea")
    bench.shop.verdict = Ask("sure?")
    bench.harness.answers += ["Allow once"]
    assert bench.call("price", item="tea") == "tea costs 2"


def test_approval_is_requested_each_time(bench: CachedTools) -> None:
    bench.harness.answers += ["Allow once", "Deny"]
    assert bench.call("buy") == "bought 1"
    assert bench.call("buy").startswith("Denied: it costs money")


def test_wrong_arguments_miss_the_cache(bench: CachedTools) -> None:
    bench.call("price", item="tea")
    assert bench.call("price", itme="tea").startswith("Error: price needs the argument 'item'")


def test_note_about_an_ignored_argument_is_not_repeated(bench: CachedTools) -> None:
    ignored = "price has no argument 'colour'"
    assert ignored in bench.call("price", item="tea", colour="red")
    assert ignored not in bench.call("price", item="tea")
    assert bench.call("price", item="tea", colour="blue").count(ignored) == 1


def test_concurrent_calls_keep_their_own_results(bench: CachedTools) -> None:
    items = ["tea", "milk", "tea", "bread", "milk"]
    bench.turn(calls("price", item="milk"))
    bench.harness.model.steps[:] = [[calls("price", item=item) for item in items], "done"]
    results = bench.harness.send("go").tool_calls
    assert [r.text.split(" ")[0] for r in results] == items
    assert [MARK in r.text for r in results if "milk" in r.text] == [True, True]
    sent = bench.harness.model.last.messages[-1].blocks
    assert [b.call_id for b in sent if isinstance(b, ToolResultBlock)] == [
        result.call.id for result in results
    ]


def test_sub_agent_shares_the_cache_of_its_parent(bench: CachedTools) -> None:
    bench.call("mine")
    model = bench.harness.model
    model.steps[:] = [[calls("hand_over")], [calls("mine")], "done", "done"]
    result: ToolResult = bench.harness.send("go").tool_calls[0]
    assert result.text.startswith("default has 1\n\n" + MARK)


def test_tool_that_takes_ctx_is_cached_per_chat(bench: CachedTools) -> None:
    model, channel = bench.harness.model, bench.harness.channel

    async def ask(channel: FakeChannel, chat: str) -> str:
        asked, replied = len(model.requests), len(channel.sent)
        model.steps[:] = [[calls("mine"), calls("price", item="tea")], "done"]
        await channel.say("go", chat=chat)
        await channel.replies(replied + 1)
        blocks = model.requests[asked + 1].messages[-1].blocks
        return "\n".join(b.text for b in blocks if isinstance(b, ToolResultBlock))

    first = bench.harness.run(ask(channel, "one"))
    other = bench.harness.run(ask(channel, "two"))
    again = bench.harness.run(ask(channel, "one"))
    assert first.startswith("one has ")
    assert "two has " in other
    assert other.count(MARK) == 1
    assert again.startswith(first.split("\n")[0])
    assert again.count(MARK) == 2
