"""Questions that belong to no call: the plugin that posted one acts on its answer, once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hookline_hookspecs import HooklineError, Plugin, Question, Questions, Session, hookimpl
from hookline_hookspecs.questions import (
    AnswerFailed,
    QuestionClosed,
    QuestionHandler,
    StoredQuestion,
)

from .test_chat_answers import People, press, until

Make = Callable[..., Any]


class Door(Plugin):
    """Asks whether a guest may come in; ``broken`` makes acting on the answer fail."""

    name = "door"

    @hookimpl
    def setup(self, host: Any) -> None:
        self.done: list[str] = []
        self.broken = False
        host.services.add(QuestionHandler, self)

    async def answered(self, question: StoredQuestion) -> str:
        if self.broken:
            raise HooklineError("the door is stuck")
        assert question.answer is not None
        self.done.append(f"{question.data['guest']}: {question.answer.choice}")
        return f"{question.data['guest']} is in."


async def post(h: Any, guest: str = "ann") -> StoredQuestion:
    runtime = await h.aopen()
    await runtime.gateway_host.recover()
    stored: StoredQuestion = await runtime.engine.services[Questions].post(
        Question(f"Let {guest} in?", ("Let in", "Block"), kind="trust"),
        "door",
        guest,
        expires=4e9,
        session=Session("", "fake", "user", None, 0.0),
        data={"guest": guest},
        show=True,
    )
    return stored


def questions(h: Any) -> Any:
    return h.runtime.engine.services[Questions]


def test_posted_question_is_answered_by_a_button_and_acted_on_once(harness: Make) -> None:
    h = harness(People, Door)

    async def story() -> None:
        stored = await post(h)
        assert (await post(h)).id == stored.id
        assert [one.id for one in await questions(h).open()] == [stored.id]
        assert await questions(h).open(session="") == []
        await until(lambda: any(one.question == stored.id for one in h.channel.sent))
        await press(h, stored.id, "Let in")
        await press(h, stored.id, "Block")
        await until(lambda: any("already answered" in one.text for one in h.channel.sent))
        assert h.plugin(Door).done == ["ann: Let in"]
        assert "ann is in." in [one.text for one in h.channel.sent]
        assert await questions(h).open() == []

    h.run(story())


def test_posted_question_is_open_again_if_its_answer_cannot_be_acted_on(harness: Make) -> None:
    h = harness(People, Door)

    async def story() -> None:
        stored = await post(h)
        door = h.plugin(Door)
        door.broken = True
        with pytest.raises(AnswerFailed, match="the door is stuck"):
            await questions(h).answer(stored.id, "1", "terminal", "me")
        door.broken = False
        answered = await questions(h).answer(stored.id, "1", "terminal", "me")
        assert answered.outcome == "ann is in."
        with pytest.raises(QuestionClosed):
            await questions(h).answer(stored.id, "2", "terminal", "me")
        assert door.done == ["ann: Let in"]

    h.run(story())


def test_answer_taken_without_the_plugin_is_acted_on_later(harness: Make) -> None:
    h = harness(People, Door)
    stored = h.run(post(h))
    h.close()
    without = harness(People, home=h.home)

    async def answer() -> None:
        await without.aopen()
        answered = await questions(without).answer(stored.id, "Let in", "terminal", "me")
        assert answered.outcome == ""

    without.run(answer())
    without.close()
    later = harness(People, Door, home=h.home)

    async def wait() -> None:
        await (await later.aopen()).gateway_host.recover()
        await until(lambda: later.plugin(Door).done)
        assert later.plugin(Door).done == ["ann: Let in"]

    later.run(wait())


def test_posted_question_decided_elsewhere_is_closed_without_the_plugin(harness: Make) -> None:
    h = harness(People, Door)

    async def story() -> None:
        stored = await post(h)
        await questions(h).close_about("door", "ann", "Let in", "fake:boss")
        closed = await questions(h).get(stored.id)
        assert (closed.state, closed.answer.by) == ("answered", "fake:boss")
        told = f"The question about `Let ann in?` ({stored.id}) was answered by fake:boss: Let in."
        await until(lambda: told in [one.text for one in h.channel.sent])
        assert h.plugin(Door).done == []

    h.run(story())
