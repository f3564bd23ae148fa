"""Long results: what the model reads and what is stored."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from hookline.testing import ScriptedModel, calls
from hookline_hookspecs import ToolCall, ToolResultBlock

from .conftest import MARKER, ArtifactTools, Hints

LONG = "".join(f"{number:05}\n" for number in range(2_000))  # 12,000 characters


def test_result_of_4000_characters_is_shown_whole(bench: ArtifactTools) -> None:
    assert bench.say("é" * 4_000) == "é" * 4_000


def test_longer_result_keeps_its_beginning_and_end(bench: ArtifactTools) -> None:
    shown = bench.say("é" * 1_500 + "x" * 2_001 + "😀" * 500)
    head, count, _id, tail = MARKER.split(shown)
    assert (head, count, tail) == ("é" * 1_500, "2001", "😀" * 500)


def test_max_chars_head_and_tail_can_be_configured(
    make_bench: Callable[..., ArtifactTools],
) -> None:
    shown = make_bench(max_chars=10, head=3, tail=2).say("0123456789A")
    head, count, _id, tail = MARKER.split(shown)
    assert (head, count, tail) == ("012", "6", "9A")


def test_config_rejects_head_and_tail_above_max_chars(make_bench: Any) -> None:
    from hookline_artifacts import ArtifactsConfig

    with pytest.raises(ValueError, match="head and tail together"):
        ArtifactsConfig(max_chars=100, head=80, tail=30)


def test_paged_result_is_not_cut(bench: ArtifactTools) -> None:
    bench.speak(LONG)
    assert bench.run(calls("say_paged"))[0].text == LONG


def test_failed_result_is_cut_and_stays_failed(bench: ArtifactTools) -> None:
    bench.speak("Error: " + LONG)
    result = bench.run(calls("complain"))[0]
    assert not result.ok
    assert MARKER.search(result.text)
    assert result.text.startswith("Error: 00000\n")


def test_notes_follow_the_text_and_are_never_cut(make_bench: Callable[..., ArtifactTools]) -> None:
    bench = make_bench(Hints)
    bench.speak(LONG)
    shown = bench.run(calls("complain"))[0].text
    tail = MARKER.split(shown)[3]
    own, hint = "\n\nNote: a note of the tool's own", "\n\nNote: " + "hint " * 1_000
    assert tail == LONG[-500:] + own + hint


def test_cut_result_can_be_fetched_whole(bench: ArtifactTools) -> None:
    id_ = bench.keep(LONG)
    assert bench.fetch(id_).text.startswith(LONG)


def test_equal_texts_share_an_id_and_others_do_not(bench: ArtifactTools) -> None:
    assert bench.keep(LONG) == bench.keep(LONG)
    assert bench.keep(LONG + "x") != bench.keep(LONG)


def test_artifact_survives_a_restart(bench: ArtifactTools) -> None:
    id_ = bench.keep(LONG)
    bench.restart()
    assert bench.fetch(id_).text.startswith(LONG)


@pytest.mark.parametrize(
    "odd", ["\0", "\ud800", "\r\n", "\u2028", "😀", "]]>", "'; DROP TABLE x; --"]
)
def test_odd_characters_are_kept(bench: ArtifactTools, odd: str) -> None:
    text = "a" * 3_000 + odd + "b" * 3_000
    shown = bench.fetch(bench.keep(text), offset=2_990, length=20 + len(odd)).text
    kept = "\ufffd" if odd in ("\ud800", "\0") else odd  # core replaces both
    assert shown.startswith("a" * 10 + kept + "b" * 10)


def test_concurrent_results_are_each_cut(bench: ArtifactTools) -> None:
    bench.speak("abcdefghij")
    asked = [calls("say", times=times) for times in (500, 600, 700, 3)]
    results = bench.run(*asked)
    counts = [MARKER.search(result.text) for result in results]
    assert [m and m[1] for m in counts] == ["3000", "4000", "5000", None]
    sent = bench.harness.model.last.messages[-1].blocks
    assert [b.call_id for b in sent if isinstance(b, ToolResultBlock)] == [
        result.call.id for result in results
    ]


def test_sub_agent_result_is_cut_and_can_be_fetched(bench: ArtifactTools) -> None:
    bench.speak(LONG)
    bench.harness.model.steps += [[calls("hand_over")], [calls("say")], "done", "done"]
    shown = bench.harness.send("go").tool_calls[0].text
    marker = MARKER.search(shown)
    assert marker
    assert bench.fetch(marker[2]).text.startswith(LONG)


def test_error_for_an_unknown_tool_name_is_cut(bench: ArtifactTools) -> None:
    result = bench.run(ToolCall("", "n" * 9_000, {}))[0]
    assert len(result.text) < 2_200
    assert MARKER.search(result.text)


def test_result_that_cannot_be_stored_is_not_cut(
    bench: ArtifactTools, caplog: pytest.LogCaptureFixture
) -> None:
    bench.keep(LONG)
    with closing(sqlite3.connect(bench.harness.home / "hookline.db")) as database, database:
        database.execute("DROP TABLE artifacts_texts")
    database.close()
    assert bench.say("x" + LONG) == "x" + LONG
    assert "a long result was not cut" in caplog.text


def test_artifact_of_another_chat_is_refused(bench: ArtifactTools) -> None:
    id_ = bench.keep(LONG)
    model: ScriptedModel = bench.harness.model
    model.steps += [[calls("fetch_artifact", id=id_)], "done", [calls("say")], "done"]

    async def other_chat() -> None:
        await bench.harness.channel.say("show me", chat="other")
        await bench.harness.channel.replies(1)
        await bench.harness.channel.say("say it", chat="other")
        await bench.harness.channel.replies(2)

    bench.harness.run(other_chat())
    fetched = _result(model, 3)
    assert fetched == f"Denied: the artifact {id_!r} belongs to another chat"
    own = MARKER.search(_result(model, 5))
    assert own is not None
    assert own[2] != id_


def _result(model: ScriptedModel, request: int) -> str:
    block = model.requests[request].messages[-1].blocks[0]
    assert isinstance(block, ToolResultBlock)
    return block.text
