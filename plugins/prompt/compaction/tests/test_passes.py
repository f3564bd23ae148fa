"""When a history is compacted, and what is kept."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from hookline.testing import calls
from hookline_hookspecs import (
    Context,
    ContextBlock,
    ContextTooLong,
    Message,
    ModelRequest,
    ModelResponse,
    Overloaded,
    Plugin,
    TextBlock,
    Turn,
    Usage,
    hookimpl,
)
from hookline_hookspecs.plugin import NoConfig

from .conftest import SUMMARY, Talk, texts

HEADINGS = ("## Goal", "## Decisions", "## Files and facts", "## Open ends", "## Next step")


def test_nothing_is_compacted_below_the_threshold(talk: Talk) -> None:
    talk.grow(8)
    assert talk.asked == []
    assert len(talk.sent) == 15


@pytest.mark.parametrize(
    ("window_small", "enough"), [(512_000, 4), (100_000, 3)], ids=["75-percent", "50-percent"]
)
def test_threshold_depends_on_the_context_window(
    talk: Talk, window_small: int, enough: int
) -> None:
    h = talk.open(threshold_small=0.75, window_small=window_small)
    assert h.runtime.plugins.host("compaction").window("test/model") == 128_000
    talk.grow(enough - 1, size=100_000)
    assert talk.asked == []
    talk.grow(1, size=100_000)
    assert len(talk.asked) == 1


def test_long_conversation_keeps_head_summary_and_tail(talk: Talk) -> None:
    talk.grow(20)
    assert len(talk.asked) >= 1
    said = texts(talk.sent)
    assert said[0].startswith("word 1:")
    assert SUMMARY in said[2]
    assert said[-1].startswith("word 20:")
    assert talk.size < 10_240
    assert talk.heard()[:2] == ["pre_compact", "compacted"]


def test_summary_request_has_fixed_headings(talk: Talk) -> None:
    talk.grow(12)
    request = next(r for r in talk.harness.model.requests if r.purpose == "auxiliary")
    found = [request.system.index(f"\n{heading}\n") for heading in HEADINGS]
    assert found == sorted(found)
    assert request.params["max_tokens"] == 2_000
    assert "word 2:" in talk.asked[0]
    assert "word 12:" not in talk.asked[0]


def test_earlier_summary_is_merged_into_the_new_one(talk: Talk) -> None:
    talk.summary = f"{SUMMARY} The key is 4711."
    talk.grow(30)
    assert len(talk.asked) >= 2
    _, _, folded = talk.asked[1].partition("<earlier-summary>")
    assert "The key is 4711." in folded
    assert "The key is 4711." not in talk.asked[1].partition("<earlier-summary>")[0]
    assert sum("Summary of the earlier" in text for text in texts(talk.sent)) == 1


def test_old_tool_results_are_pruned_before_a_summary(talk: Talk) -> None:
    for number in range(6):
        talk.say(f"word {number}", [calls("look", size=2_000)])
    assert talk.asked == []
    said = texts(talk.sent)
    assert "[Old result of look left out: 2000 characters]" in said
    assert "x" * 2_000 in said
    assert talk.size < 10_240


def test_middle_of_a_long_turn_is_summarised_and_its_message_kept(talk: Talk) -> None:
    steps = [[f"step {n} " + "s" * 500, calls("look", size=100)] for n in range(40)]
    outcome = talk.say("build the house", *steps)
    assert outcome.text == "very well"
    assert len(talk.asked) >= 1
    said = texts(talk.sent)
    assert said[0] == "build the house"
    assert SUMMARY in said[1]
    assert said[-2].startswith("step 39")
    assert_alternates(talk.sent)


def test_pinned_message_is_kept_word_for_word(talk: Talk) -> None:
    talk.say("so far so good")
    talk.say("take note\n  PIN: the door is blue\nand go on")
    talk.say("SPIN: this is not pinned")
    talk.grow(40)
    assert len(talk.asked) >= 2
    said = texts(talk.sent)
    assert said.count("take note\n  PIN: the door is blue\nand go on") == 1
    assert not any("SPIN" in text for text in said)
    assert_alternates(talk.sent)


def test_history_after_a_pass_keeps_a_stable_prefix(talk: Talk) -> None:
    talk.grow(12)
    before = talk.sent
    assert talk.say("on").text == "very well"
    assert talk.sent[: len(before)] == before
    talk.open()
    talk.say("and on")
    assert talk.sent[: len(before)] == before


@pytest.mark.parametrize(
    ("summary", "words"),
    [
        (Overloaded("The provider has no capacity."), "no capacity"),
        (" \n", "empty"),
        ("s" * 12_001, "the summary is too long"),
        ("s" * 11_999, "longer than what it should replace"),
    ],
)
def test_failed_summary_keeps_the_history_and_is_reported(
    talk: Talk, summary: Any, words: str
) -> None:
    talk.summary = summary
    talk.grow(10)
    assert len(talk.asked) == 1
    assert len(talk.sent) == 19
    assert [text for text in talk.told() if words in text]
    assert talk.heard() == []


def test_summary_that_times_out_has_failed(talk: Talk) -> None:
    class Hangs(Plugin[NoConfig]):
        @hookimpl
        def around_model(self, ctx: Context, request: ModelRequest) -> Any:
            return self.wait if request.purpose == "auxiliary" else None

        async def wait(self, request: ModelRequest, call_next: Any) -> ModelResponse:
            await asyncio.sleep(3_600)
            return await call_next(request)

    talk.open(Hangs, summary_timeout=0.05)
    talk.grow(10)
    assert len(talk.sent) == 19
    assert [text for text in talk.told() if "took longer than 0.05 s" in text]


def test_failed_summary_is_not_tried_again_in_the_same_turn(talk: Talk) -> None:
    talk.summary = Overloaded("no capacity")
    talk.grow(9)
    talk.say("w" * 1_000, [calls("look", size=1)], [calls("look", size=1)])
    assert len(talk.asked) == 1


def test_two_failed_passes_stop_automatic_compaction_but_not_compact(talk: Talk) -> None:
    talk.summary = Overloaded("no capacity")
    talk.grow(14)
    assert len(talk.asked) == 2
    assert "/compact" in talk.told()[-1]
    assert "twice" in talk.told()[-1] or "2 times" in talk.told()[-1]
    talk.open()
    talk.say("on")
    assert talk.asked == [], "it stays stopped in the next process"
    talk.summary = SUMMARY
    assert talk.say("/compact").text.startswith("Shortened: ")
    talk.say("on")
    assert talk.size < 10_240
    talk.grow(20)
    assert len(talk.asked) >= 2, "what works once is done by itself again"


def test_pass_that_frees_too_little_is_not_repeated(talk: Talk) -> None:
    talk.say("PIN: " + "p" * 12_000)
    for number in range(4):
        talk.say(f"word {number}")
    assert talk.asked == []
    assert len([text for text in talk.told() if "freed less than 10%" in text]) == 1


def test_compact_command_takes_a_focus_and_reports_the_result(talk: Talk) -> None:
    talk.grow(6)
    answer = talk.say("/compress the colour of the door").text
    assert "12 messages became 6" in answer
    assert "Keep in view above all: the colour of the door" in talk.asked[0]
    assert talk.say("/compact").text == "There is nothing to shorten yet."
    talk.say("on")
    assert texts(talk.sent)[-3].startswith("word 6:")


def test_compact_command_does_nothing_in_a_new_session(talk: Talk) -> None:
    assert talk.say("/compact").text == "There is nothing to shorten yet."
    talk.say("hello")
    assert talk.say("/compact").text == "There is nothing to shorten yet."


def test_compact_command_reports_a_failed_summary(talk: Talk) -> None:
    talk.grow(6)
    talk.summary = Overloaded("no capacity.")
    assert talk.say("/compact").text == (
        "The conversation stays as it was: the summary failed: no capacity."
    )


def test_too_long_request_is_compacted_once_and_sent_again(talk: Talk) -> None:
    talk.grow(5)
    outcome = talk.say("on", ContextTooLong("too long"), "here I am")
    assert outcome.text == "here I am"
    assert len(talk.asked) == 1
    assert texts(talk.sent)[-1] == "on"
    assert SUMMARY in "\n".join(texts(talk.sent))


def test_second_refusal_is_raised(talk: Talk) -> None:
    talk.grow(5)
    before = talk.count()
    outcome = talk.say("on", ContextTooLong("too long"), ContextTooLong("still too long"))
    assert (outcome.stop, outcome.text) == ("error", "still too long")
    assert talk.count() == before + 2
    assert len(talk.asked) == 1


def test_refusal_is_raised_at_once_if_nothing_can_be_compacted(talk: Talk) -> None:
    outcome = talk.say("hello", ContextTooLong("too long"))
    assert (outcome.stop, outcome.text) == ("error", "too long")
    assert talk.count() == 1


def test_head_is_summarised_if_the_provider_refuses_a_short_history(talk: Talk) -> None:
    talk.say("one " + "w" * 1_000)
    assert talk.say("two", ContextTooLong("too long"), "fine").text == "fine"
    assert [message.role for message in talk.sent] == ["user", "assistant", "user"]
    assert SUMMARY in texts(talk.sent)[0]


def test_token_count_of_the_provider_corrects_the_estimate(talk: Talk) -> None:
    dense = [ModelResponse((TextBlock("ok"),), "end", Usage(input=2_700))]
    talk.grow(4)
    talk.say("w" * 1_000, *dense)
    talk.say("on")
    assert len(talk.asked) == 1, "5,000 characters were counted as 2,700 tokens"


def test_implausible_token_count_is_ignored(talk: Talk) -> None:
    talk.grow(12)  # the scripted model counts 10 tokens, whatever it is sent
    assert len(talk.asked) >= 1


def test_context_of_earlier_turns_is_dropped_before_messages(talk: Talk) -> None:
    class Recalls(Plugin[NoConfig]):
        @hookimpl
        def pre_prompt(self, ctx: Context, turn: Turn) -> ContextBlock:
            return ContextBlock("seen", "c" * 1_500)

    talk.open(Recalls)
    talk.grow(8, size=10)
    assert talk.asked == []
    assert talk.heard() == ["pre_compact", "compacted"]
    assert len(talk.sent) == 15
    assert talk.sent[-1].context


def test_text_redacted_by_another_plugin_stays_redacted(talk: Talk) -> None:
    class Redacts(Plugin[NoConfig]):
        """Stands before compaction, as ``redact`` does in the standard set."""

        @hookimpl(tryfirst=True)
        def pre_model(self, ctx: Context, request: ModelRequest) -> ModelRequest:
            return replace(request, messages=tuple(map(clean, request.messages)))

    def clean(message: Message) -> Message:
        blocks = tuple(
            TextBlock(b.text.replace("word 1:", "[REDACTED]")) if isinstance(b, TextBlock) else b
            for b in message.blocks
        )
        return message if blocks == message.blocks else replace(message, blocks=blocks)

    talk.open(Redacts)
    talk.grow(12)
    assert len(talk.asked) == 1
    assert texts(talk.sent)[0].startswith("[REDACTED]")


def test_auxiliary_requests_are_not_compacted(talk: Talk) -> None:
    long = "a" * 50_000
    host = talk.harness.runtime.plugins.host("hands")
    talk.say("hello")
    assert talk.harness.run(host.ask_model(long)) == SUMMARY
    assert talk.asked == [long]


def assert_alternates(messages: tuple[Message, ...]) -> None:
    """User and assistant take turns, the user first."""
    wanted = ["user", "assistant"] * len(messages)
    assert [message.role for message in messages] == wanted[: len(messages)]
