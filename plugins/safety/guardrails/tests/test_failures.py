"""Repeated failures: the note for the model, and the end of an unattended turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from hookline.testing import FakeChannel, calls
from hookline_hookspecs import ToolCall

from .conftest import SAME, Bench, Toolbox, look, refused


def struggle(way: int = 0, **arguments: object) -> ToolCall:
    return calls("struggle", way=str(way), **arguments)


def streak(text: str) -> str:
    """How often the note says that the tool has failed, or nothing."""
    _, found, rest = text.partition("Note: struggle has failed ")
    return rest.split(" ")[0] if found else ""


def test_third_failure_in_a_row_gets_a_note(bench: Bench) -> None:
    texts = bench.one_by_one(*(struggle(way) for way in range(4)))
    assert [streak(text) for text in texts] == ["", "", "3", "4"]
    assert texts[2].startswith("Error: it did not work\n\nNote: ")


def test_success_resets_the_failure_streak(bench: Bench) -> None:
    worked = struggle(fail=False)
    asked = [struggle(1), struggle(2), worked, struggle(3), struggle(4)]
    assert not any(streak(text) for text in bench.one_by_one(*asked))


def test_call_of_another_tool_does_not_reset_the_failure_streak(bench: Bench) -> None:
    texts = bench.one_by_one(struggle(1), look("a"), struggle(2), look("b"), struggle(3))
    assert streak(texts[-1]) == "3"


def test_failures_are_counted_within_one_response(bench: Bench) -> None:
    texts = bench.turn([struggle(1), struggle(2), struggle(3)])
    assert [streak(text) for text in texts] == ["", "", "3"]


def test_exit_code_that_is_not_zero_is_a_failure(bench: Bench) -> None:
    texts = bench.one_by_one(*(calls("bash", code=1, command=str(n)) for n in range(3)))
    assert "Note: bash has failed 3 times in a row" in texts[2]
    codes = [1, 1, 0, -9, 127]
    texts = bench.one_by_one(*(calls("bash", code=c, command=str(n)) for n, c in enumerate(codes)))
    assert not any("Note: " in text for text in texts)


def test_wrong_arguments_and_unknown_tools_are_failures_too(bench: Bench) -> None:
    texts = bench.turn([calls("look", deep=f"perhaps {n}") for n in range(3)], [calls("no")] * 3)
    assert "Note: look has failed 3 times" in texts[2]
    assert "Note: no has failed 3 times" in texts[5]


def test_failure_note_can_be_switched_off(make_bench: Callable[..., Bench]) -> None:
    texts = make_bench(failures=0).one_by_one(*(struggle(n) for n in range(5)))
    assert not any("Note: " in text for text in texts)


# The hard stop


def test_unattended_turn_is_stopped_after_eight_failures(bench: Bench) -> None:
    failing = [struggle(way) for way in range(8)]
    texts = bench.one_by_one(*failing, look(), struggle(9, fail=False), approve="no")
    assert bench.ran == 8
    assert all(
        text.startswith("Denied: struggle has failed 8 times in a row") for text in texts[8:]
    )
    assert all("Answer now" in text and "Note: " not in text for text in texts[8:])


def test_last_request_allows_no_tool_calls(bench: Bench) -> None:
    bench.one_by_one(*(struggle(way) for way in range(8)), approve="no")
    choices = [r.params.get("tool_choice", "auto") for r in bench.harness.model.requests]
    assert choices == ["auto"] * 8 + ["none"]


def test_seven_failures_do_not_stop_a_turn(bench: Bench) -> None:
    texts = bench.one_by_one(*(struggle(way) for way in range(7)), look(), approve="no")
    assert texts[-1] == "seen at here"


def test_turn_is_stopped_within_one_response(bench: Bench) -> None:
    texts = bench.turn([struggle(way) for way in range(12)], approve="no")
    assert bench.ran == 8
    assert [text.startswith("Denied: ") for text in texts] == [False] * 8 + [True] * 4


def test_attended_turn_is_not_stopped(bench: Bench) -> None:
    texts = bench.one_by_one(*(struggle(way) for way in range(10)), look())
    assert texts[-1] == "seen at here"


def test_repeated_calls_stop_an_unattended_turn(bench: Bench) -> None:
    texts = bench.one_by_one(*[calls("act")] * 13, approve="no")
    assert [refused(text) for text in texts] == [False] * 3 + [True] * 8 + [False] * 2
    assert all("Answer now" in text for text in texts[11:])


def test_failure_count_is_reset_by_the_next_turn(bench: Bench) -> None:
    bench.one_by_one(*(struggle(way) for way in range(9)), approve="no")
    assert bench.one_by_one(look(), approve="no") == ["seen at here"]


def test_failure_limit_can_be_configured_or_switched_off(make_bench: Callable[..., Bench]) -> None:
    texts = make_bench(hard_stop=0).one_by_one(*map(struggle, range(12)), look(), approve="no")
    assert texts[-1] == "seen at here"


def test_network_channel_is_unattended(bench: Bench) -> None:
    model = bench.harness.model
    model.steps += [*([struggle(way)] for way in range(8)), [look()], "done"]
    bench.harness.run(say(bench.harness.channel, "go"))
    told = model.last.messages[-1].blocks[0].text  # type: ignore[union-attr]
    assert told.startswith("Denied: struggle has failed 8 times in a row")


def test_sub_agent_of_an_unattended_turn_is_stopped(bench: Bench) -> None:
    model = bench.harness.model
    model.steps += [[calls("hand_over")], *([struggle(way)] for way in range(8)), [look()]]
    model.steps += ["done", "done"]
    text = bench.harness.send("go", approve="no").tool_calls[0].text
    assert "Denied: struggle has failed 8 times in a row" in text.split("\n")[-1]


# Resumed turns


async def say(channel: FakeChannel, text: str) -> None:
    """A message on the network channel, and its reply."""
    replied = len(channel.sent)
    await channel.say(text)
    await channel.replies(replied + 1)


def killed(bench: Bench, *before: list[ToolCall]) -> None:
    """A turn whose process ends while the tool ``wait`` runs."""
    toolbox, channel = bench.harness.plugin(Toolbox), bench.harness.channel
    bench.harness.model.steps[:] = [*before, [calls("wait")]]

    async def until_it_waits() -> None:
        toolbox.waits, toolbox.reached = asyncio.Event(), asyncio.Event()
        await channel.say("go", message_id="first")
        async with asyncio.timeout(10):
            await toolbox.reached.wait()
        await bench.harness.aclose()

    bench.harness.run(until_it_waits())


def resumed(bench: Bench, *after: list[ToolCall]) -> list[str]:
    """What the model reads of the calls that follow in the next process."""
    bench.restart()
    # A model gives each call an id of its own; the scripted one would count from 1 again.
    named = [[replace(c, id=f"r{n}-{m}") for m, c in enumerate(r)] for n, r in enumerate(after)]
    bench.harness.model.steps[:] = [*named, "done", "and on"]
    channel = bench.harness.channel

    async def wake() -> None:
        await channel.say("next", message_id="second")
        await channel.replies(2)

    bench.harness.run(wake())
    blocks = [b for r in bench.harness.model.requests[1:-1] for b in r.messages[-1].blocks]
    return [block.text for block in blocks]  # type: ignore[union-attr]


def test_resumed_turn_keeps_its_calls_and_results(bench: Bench) -> None:
    killed(bench, [look(), look("b")], [look()])
    texts = resumed(bench, [look("b")], [look()], [look()])
    assert texts[0].startswith("seen at b\n\n" + SAME)
    assert texts[1].startswith("seen at here\n\n" + SAME)
    assert refused(texts[2])


def test_resumed_turn_keeps_its_failures(bench: Bench) -> None:
    killed(bench, [struggle(1), struggle(2)], [struggle(3)], [struggle(4)])
    texts = resumed(bench, *([struggle(way)] for way in range(5, 9)), [look("b")])
    assert [streak(text) for text in texts] == ["5", "6", "7", "8", ""]
    assert texts[4].startswith("Denied: struggle has failed 8 times")


def test_resumed_turn_reads_exit_codes(bench: Bench) -> None:
    killed(bench, [calls("bash", code=1)], [calls("bash", code=2)])
    assert "bash has failed 3 times" in resumed(bench, [calls("bash", code=3)])[0]


def test_model_that_never_gets_a_call_right_is_stopped_after_eight(bench: Bench) -> None:
    wrong = [calls("no_such_tool"), calls("act", act=1), calls("look", deep="perhaps")]
    bench.harness.model.steps[:] = [[wrong[number % 3]] for number in range(40)]
    outcome = bench.harness.send("go")
    assert len(outcome.tool_calls) == 8
    assert "8 tool calls in a row that could not be run" in outcome.text
    assert "/model" in outcome.text
    assert bench.ran == 0


def test_valid_call_resets_the_count_of_invalid_ones(bench: Bench) -> None:
    steps = [[calls("no_such_tool")]] * 7 + [[look("a")]] + [[calls("no_such_tool")]] * 2
    bench.harness.model.steps[:] = [*steps, "done"]
    assert bench.harness.send("go").text == "done"
