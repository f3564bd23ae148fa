"""When a conversation is shortened, and what stays of it."""

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


def test_below_the_threshold_nothing_is_done(talk: Talk) -> None:
    talk.grow(8)
    assert talk.asked == []
    assert len(talk.sent) == 15


@pytest.mark.parametrize(
    ("window_small", "enough"), [(512_000, 4), (100_000, 3)], ids=["75-percent", "50-percent"]
)
def test_the_threshold_depends_on_the_window(talk: Talk, window_small: int, enough: int) -> None:
    h = talk.open(threshold_small=0.75, window_small=window_small)
    assert h.runtime.plugins.host("compaction").window("test/model") == 128_000
    talk.grow(enough - 1, size=100_000)
    assert talk.asked == []
    talk.grow(1, size=100_000)
    assert len(talk.asked) == 1


def test_a_long_conversation_keeps_head_summary_and_tail(talk: Talk) -> None:
    talk.grow(20)
    assert len(talk.asked) >= 1
    said = texts(talk.sent)
    assert said[0].startswith("word 1:")
    assert SUMMARY in said[2]
    assert said[-1].startswith("word 20:")
    assert talk.size < 10_240
    assert talk.heard()[:2] == ["pre_compact", "compacted"]


def test_the_summary_is_asked_for_under_fixed_headings(talk: Talk) -> None:
    talk.grow(12)
    request = next(r for r in talk.harness.model.requests if r.purpose == "auxiliary")
    found = [request.system.index(f"\n{heading}\n") for heading in HEADINGS]
    assert found == sorted(found)
    assert request.params["max_tokens"] == 2_000
    assert "word 2:" in talk.asked[0]
    assert "word 12:" not in talk.asked[0]


def test_an_earlier_summary_is_folded_in_and_not_summarised_away(talk: Talk) -> None:
    talk.summary = f"{SUMMARY} The key is 4711."
    talk.grow(30)
    assert len(talk.asked) >= 2
    _, _, folded = talk.asked[1].partition("<earlier-summary>")
    assert "The key is 4711." in folded
    assert "The key is 4711." not in talk.asked[1].partition("<earlier-summary>")[0]
    assert sum("Summary of the earlier" in text for text in texts(talk.sent)) == 1


def test_old_results_are_pruned_first_and_that_may_be_enough(talk: Talk) -> None:
    for number in range(6):
        talk.say(f"word {number}", [calls("look", size=2_000)])
    assert talk.asked == []
    said = texts(talk.sent)
    assert "[Old result of look left out: 2000 characters]" in said
    assert "x" * 2_000 in said
    assert talk.size < 10_240


def test_the_middle_of_one_long_turn_is_summarised_and_its_message_stays(talk: Talk) -> None:
    steps = [[f"step {n} " + "s" * 500, calls("look", size=100)] for n in range(40)]
    outcome = talk.say("build the house", *steps)
    assert outcome.text == "very well"
    assert len(talk.asked) >= 1
    said = texts(talk.sent)
    assert said[0] == "build the house"
    assert SUMMARY in said[1]
    assert said[-2].startswith("step 39")
    assert_alternates(talk.sent)


def test_what_is_pinned_stays_word_for_word(talk: Talk) -> None:
    talk.say("so far so good")
    talk.say("take note\n  PIN: the door is blue\nand go on")
    talk.say("SPIN: this is not pinned")
    talk.grow(40)
    assert len(talk.asked) >= 2
    said = texts(talk.sent)
    assert said.count("take note\n  PIN: the door is blue\nand go on") == 1
    assert not any("SPIN" in text for text in said)
    assert_alternates(talk.sent)


def test_what_is_sent_after_a_pass_is_sent_again(talk: Talk) -> None:
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
def test_a_failed_summary_keeps_the_history_and_tells(talk: Talk, summary: Any, words: str) -> None:
    talk.summary = summary
    talk.grow(10)
    assert len(talk.asked) == 1
    assert len(talk.sent) == 19
    assert [text for text in talk.told() if words in text]
    assert talk.heard() == []


def test_a_summary_that_does_not_come_has_failed(talk: Talk) -> None:
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


def test_a_failed_summary_is_not_tried_again_in_the_same_turn(talk: Talk) -> None:
    talk.summary = Overloaded("no capacity")
    talk.grow(9)
    talk.say("w" * 1_000, [calls("look", size=1)], [calls("look", size=1)])
    assert len(talk.asked) == 1


def test_two_passes_in_vain_stop_it_and_say_so_and_compact_still_works(talk: Talk) -> None:
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


def test_what_cannot_be_freed_is_not_tried_for_ever(talk: Talk) -> None:
    talk.say("PIN: " + "p" * 12_000)
    for number in range(4):
        talk.say(f"word {number}")
    assert talk.asked == []
    assert len([text for text in talk.told() if "freed less than 10%" in text]) == 1


def test_compact_takes_a_focus_and_says_what_it_did(talk: Talk) -> None:
    talk.grow(6)
    answer = talk.say("/compress the colour of the door").text
    assert "12 messages became 6" in answer
    assert "Keep in view above all: the colour of the door" in talk.asked[0]
    assert talk.say("/compact").text == "There is nothing to shorten yet."
    talk.say("on")
    assert texts(talk.sent)[-3].startswith("word 6:")


def test_compact_of_a_fresh_session_has_nothing_to_do(talk: Talk) -> None:
    assert talk.say("/compact").text == "There is nothing to shorten yet."
    talk.say("hello")
    assert talk.say("/compact").text == "There is nothing to shorten yet."


def test_compact_tells_when_the_summary_fails(talk: Talk) -> None:
    talk.grow(6)
    talk.summary = Overloaded("no capacity.")
    assert talk.say("/compact").text == (
        "The conversation stays as it was: the summary failed: no capacity."
    )


def test_a_request_that_is_too_long_is_shortened_once_and_sent_again(talk: Talk) -> None:
    talk.grow(5)
    outcome = talk.say("on", ContextTooLong("too long"), "here I am")
    assert outcome.text == "here I am"
    assert len(talk.asked) == 1
    assert texts(talk.sent)[-1] == "on"
    assert SUMMARY in "\n".join(texts(talk.sent))


def test_a_second_refusal_is_passed_on(talk: Talk) -> None:
    talk.grow(5)
    before = talk.count()
    outcome = talk.say("on", ContextTooLong("too long"), ContextTooLong("still too long"))
    assert (outcome.stop, outcome.text) == ("error", "still too long")
    assert talk.count() == before + 2
    assert len(talk.asked) == 1


def test_a_refusal_that_nothing_can_be_done_about_is_passed_on_at_once(talk: Talk) -> None:
    outcome = talk.say("hello", ContextTooLong("too long"))
    assert (outcome.stop, outcome.text) == ("error", "too long")
    assert talk.count() == 1


def test_a_short_conversation_gives_up_its_head_when_the_provider_insists(talk: Talk) -> None:
    talk.say("one " + "w" * 1_000)
    assert talk.say("two", ContextTooLong("too long"), "fine").text == "fine"
    assert [message.role for message in talk.sent] == ["user", "assistant", "user"]
    assert SUMMARY in texts(talk.sent)[0]


def test_the_count_of_the_provider_corrects_the_estimate(talk: Talk) -> None:
    dense = [ModelResponse((TextBlock("ok"),), "end", Usage(input=2_700))]
    talk.grow(4)
    talk.say("w" * 1_000, *dense)
    talk.say("on")
    assert len(talk.asked) == 1, "5,000 characters were counted as 2,700 tokens"


def test_a_count_that_cannot_be_of_this_request_is_not_believed(talk: Talk) -> None:
    talk.grow(12)  # the scripted model counts 10 tokens, whatever it is sent
    assert len(talk.asked) >= 1


def test_context_of_earlier_turns_is_dropped_before_words_are(talk: Talk) -> None:
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


def test_what_another_plugin_takes_out_of_a_request_stays_out(talk: Talk) -> None:
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


def test_auxiliary_requests_are_left_alone(talk: Talk) -> None:
    long = "a" * 50_000
    host = talk.harness.runtime.plugins.host("hands")
    talk.say("hello")
    assert talk.harness.run(host.ask_model(long)) == SUMMARY
    assert talk.asked == [long]


def assert_alternates(messages: tuple[Message, ...]) -> None:
    """User and assistant take turns, the user first."""
    wanted = ["user", "assistant"] * len(messages)
    assert [message.role for message in messages] == wanted[: len(messages)]
