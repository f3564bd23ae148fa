"""A call that is too long for a list is accepted only where it was shown whole."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline.testing.harness import EveryoneMayAnswer
from hookline_approvals import Approvals
from hookline_hookspecs import Plugin, Questions, hookimpl, tool
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.optional_services import Access
from hookline_hookspecs.questions import NotShown, StoredQuestion

HIDDEN = "rm -rf /srv/data"
LONG = f"{'x' * 4_000} {HIDDEN} {'y' * 4_000}"


class Work(Plugin):
    """A tool that needs approval, and a person who may give it."""

    @hookimpl
    def setup(self, host: Any) -> None:
        self.ran: list[str] = []
        host.services.provide(Access, EveryoneMayAnswer())

    @tool(approval="it is far away")
    def launch(self, target: str) -> str:
        """Launch something."""
        self.ran.append(target)
        return "launched"


async def parked(h: Harness, target: str) -> StoredQuestion:
    h.model.steps += [calls("launch", target=target), "done"]
    await h.aopen()
    await h.runtime.gateway_host.recover()
    await h.channel.say("go")
    async with asyncio.timeout(10):
        while not any(one.question for one in h.channel.sent):
            await asyncio.sleep(0.01)
    await h.runtime.finish_background(5)
    (question,) = await h.runtime.engine.services[Questions].open()
    return question


async def test_long_call_is_not_accepted_by_its_id(harness: Callable[..., Harness]) -> None:
    h = harness(Work, Approvals)
    question = await parked(h, LONG)
    questions = h.runtime.engine.services[Questions]
    for typed in ("1", "Allow once", "Allow always"):
        with pytest.raises(NotShown):
            await questions.answer(question.id, typed, TERMINAL, "me")
    with pytest.raises(NotShown):
        await questions.answer(question.id, "1", TERMINAL, "me", shown="00000000")
    await h.channel.say(f"/questions answer {question.id} 1", chat="elsewhere")
    assert (await questions.get(question.id)).state == "open"
    answered = await questions.answer(question.id, f"1 {question.digest}", TERMINAL, "me")
    assert answered.answer.choice == "Allow once"


async def test_long_call_is_denied_without_being_read(harness: Callable[..., Harness]) -> None:
    h = harness(Work)
    question = await parked(h, LONG)
    questions = h.runtime.engine.services[Questions]
    answered = await questions.answer(question.id, "Deny too long", TERMINAL, "me")
    assert answered.answer.words == "too long"


async def test_chat_offers_only_to_refuse_a_long_call(harness: Callable[..., Harness]) -> None:
    h = harness(Work, Approvals)
    question = await parked(h, LONG)
    (asked,) = (one for one in h.channel.sent if one.question)
    assert asked.choices == ("Deny",)
    assert "Allow" not in asked.text.partition("```")[2]
    assert f"`hookline questions show {question.id}`" in asked.text
    assert "characters are not shown here" in asked.text
    assert len(asked.text) < 4_000


@pytest.mark.parametrize("typed", ["1", "/approve", "press"])
async def test_long_call_is_not_accepted_in_a_chat(
    harness: Callable[..., Harness], typed: str
) -> None:
    h = harness(Work, Approvals)
    question = await parked(h, LONG)
    count = len(h.channel.sent)
    if typed == "press":
        await h.channel.say("Allow once", kind="press", question=question.id)
    else:
        await h.channel.say(typed)
    async with asyncio.timeout(10):
        while len(h.channel.sent) == count:
            await asyncio.sleep(0.01)
    assert "was not shown whole" in h.channel.sent[-1].text
    assert h.plugin(Work).ran == []
    await h.channel.say(f"/questions answer {question.id} 1 {question.digest}")
    async with asyncio.timeout(10):
        while not h.plugin(Work).ran:
            await asyncio.sleep(0.01)


async def test_short_call_is_accepted_in_the_chat_that_shows_it(
    harness: Callable[..., Harness],
) -> None:
    h = harness(Work, Approvals)
    await parked(h, "moon")
    await h.channel.say("1")
    async with asyncio.timeout(10):
        while not h.plugin(Work).ran:
            await asyncio.sleep(0.01)
    assert h.plugin(Work).ran == ["moon"]


def test_digest_is_that_of_what_is_shown_and_of_the_files() -> None:
    fixed = ("", "", "", "", "", "", 0.0, None, "open")
    one = StoredQuestion("A", "approval", "text", "preview", ("Yes", "No"), *fixed)
    other = StoredQuestion("B", "approval", "text", "Preview", ("Yes", "No"), *fixed)
    assert one.digest != other.digest
