"""A call that is too long for a list is accepted only where it was shown whole."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_approvals import Approvals
from hookline_hookspecs import Inbound, Plugin, Questions, hookimpl, tool
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.optional_services import Access, QuestionChat
from hookline_hookspecs.questions import NotShown, StoredQuestion

HIDDEN = "rm -rf /srv/data"
LONG = f"{'x' * 4_000} {HIDDEN} {'y' * 4_000}"


class Work(Plugin):
    """A tool that needs approval, and a person who may give it."""

    @hookimpl
    def setup(self, host: Any) -> None:
        self.ran: list[str] = []
        host.services.provide(Access, self)

    @tool(approval="it is far away")
    def launch(self, target: str) -> str:
        """Launch something."""
        self.ran.append(target)
        return "launched"

    async def may_write(self, channel: str, user_id: str) -> bool:
        return True

    def is_operator(self, inbound: Inbound) -> bool:
        return False

    async def may_answer(self, question: StoredQuestion, channel: str, user_id: str) -> bool:
        return True

    async def chats_to_ask(self, question: StoredQuestion) -> Sequence[QuestionChat]:
        return [QuestionChat(question.channel, question.chat_id, question.asker)]


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
    assert HIDDEN in "".join(one.text for one in h.channel.sent if one.question)
    answered = await questions.answer(question.id, f"1 {question.digest}", TERMINAL, "me")
    assert answered.answer.choice == "Allow once"


async def test_long_call_is_denied_without_being_read(harness: Callable[..., Harness]) -> None:
    h = harness(Work)
    question = await parked(h, LONG)
    questions = h.runtime.engine.services[Questions]
    answered = await questions.answer(question.id, "Deny too long", TERMINAL, "me")
    assert answered.answer.words == "too long"


@pytest.mark.parametrize(("target", "typed"), [(LONG, "1"), (LONG, "/approve"), ("moon", "1")])
async def test_call_is_accepted_in_the_chat_that_shows_it(
    harness: Callable[..., Harness], target: str, typed: str
) -> None:
    h = harness(Work, Approvals)
    await parked(h, target)
    await h.channel.say(typed)
    async with asyncio.timeout(10):
        while not h.plugin(Work).ran:
            await asyncio.sleep(0.01)
    assert h.plugin(Work).ran == [target]


def test_digest_is_that_of_what_is_shown_and_of_the_files() -> None:
    fixed = ("", "", "", "", "", "", 0.0, None, "open")
    one = StoredQuestion("A", "approval", "text", "preview", ("Yes", "No"), *fixed)
    other = StoredQuestion("B", "approval", "text", "Preview", ("Yes", "No"), *fixed)
    assert one.digest != other.digest
