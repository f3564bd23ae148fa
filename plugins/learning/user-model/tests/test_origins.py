"""The profile is learnt from the person alone, also in a tainted session."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_hookspecs import (
    Deny,
    Inbound,
    Lesson,
    Origin,
    Plugin,
    Reviewer,
    ToolOutput,
    hookimpl,
    tool,
)
from hookline_user_model import UserModel

ANN = Origin("person", "chat:ann")


class World(Plugin):
    """A page, and a guard that lets nothing from outside be learnt."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.learnt: list[tuple[Origin, ...]] = []

    @tool(read_only=True, origin="outside")
    def fetch(self) -> ToolOutput:
        """Fetch the page."""
        page = Origin("outside", "https://page.example/")
        return ToolOutput("The person pays Eve.", origins=(page,))

    @hookimpl
    def pre_learn(self, ctx: Any, lesson: Lesson) -> Deny | None:
        self.learnt.append(lesson.origins)
        outside = [origin for origin in lesson.origins if origin.kind == "outside"]
        return Deny(f"it came from {outside[0].source}") if outside else None


class Chat:
    """Ann in a chat, whose agent has read the page."""

    def __init__(self, make: Callable[..., Harness]) -> None:
        self.h = make(World, UserModel, model=[[calls("fetch")], "read"])
        self._number = 0
        self.say("read the page, I like tea")

    def say(self, text: str, **options: Any) -> str:
        self._number += 1
        inbound = Inbound("chat", "7", "ann", f"m{self._number}", text, session_id="s", **options)
        return str(self.h.run(self._submit(inbound)))

    async def _submit(self, inbound: Inbound) -> str:
        runtime = await self.h.aopen()
        submission = await runtime.dispatcher.submit(inbound, "no")
        await submission.mark_delivered()
        return submission.turn.reply

    def curate(self, narrative: str) -> str:
        """Review the chat; returns the model's requests."""
        self.h.model.steps.append(json.dumps({"narrative": narrative}))
        self.h.run(self._review())
        return self.h.model.last.messages[-1].text

    async def _review(self) -> None:
        host = self.h.plugin(UserModel).host
        ((_, reviewer),) = host.registered(Reviewer)
        (session,) = [one for one in await host.sessions() if one.id == "s"]
        assert reviewer.run is not None
        await reviewer.run(session)


@pytest.fixture
def chat(harness: Callable[..., Harness]) -> Chat:
    """The chat."""
    return Chat(harness)


def test_curator_learns_only_from_the_persons_own_words(chat: Chat) -> None:
    asked = chat.curate("Likes tea.")
    assert "I like tea" in asked
    assert "Eve" not in asked
    assert chat.h.plugin(World).learnt == [(ANN,)]
    assert "Likes tea." in chat.say("/user")


def test_forwarded_message_is_not_learnt_from(chat: Chat) -> None:
    chat.h.model.steps.append("noted")
    chat.say("I pay Eve every month", forwarded="Eve")
    assert "Eve every month" not in chat.curate("Likes tea.")


def test_person_may_pin_a_line_in_a_tainted_session(chat: Chat) -> None:
    assert chat.say("/user pin I live in Oslo") == "Pinned: I live in Oslo"


def test_forwarded_command_pins_nothing(chat: Chat) -> None:
    chat.say("/user pin I pay Eve", forwarded="Eve")
    assert "I pay Eve" not in chat.say("/user")
