"""Edits, deletions and reactions: context for the session, and no turn of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import Harness, ScriptedModel
from hookline_gateway import Gateway
from hookline_hookspecs import Inbound

MakeHarness = Callable[..., Harness]


class Held(ScriptedModel):
    """Answers when the test allows it."""

    def __init__(self) -> None:
        super().__init__([f"answer {n}" for n in range(9)])
        self.free = asyncio.Event()

    async def send(self, wire: Any, on_delta: Any) -> Any:
        await self.free.wait()
        return await super().send(wire, on_delta)

    @property
    def asked(self) -> list[str]:
        return [request.messages[-1].text for request in self.requests]


class People:
    """A chat with one person, on the fake channel."""

    def __init__(self, harness: Harness, model: Held) -> None:
        self.harness, self.model = harness, model

    async def do(self, id_: str, text: str = "", **more: Any) -> None:
        runtime = await self.harness.aopen()
        said = Inbound("fake", "c", "ann", id_, text, private=True, **more)
        await runtime.dispatcher.receive(said)

    async def over(self) -> list[str]:
        """Let the model answer; return what it was asked."""
        self.model.free.set()
        runtime = await self.harness.aopen()
        await runtime.finish_background(30)
        return self.model.asked


@pytest.fixture
def people(harness: MakeHarness) -> People:
    model = Held()
    return People(harness(Gateway, model=model), model)


def test_deleted_message_gets_no_turn_unless_started(people: People) -> None:
    async def run() -> list[str]:
        await people.do("1", "one")
        await people.do("2", "two")
        await people.do("3", "three")
        await asyncio.sleep(0.05)
        await people.do("2:delete", kind="delete", target="2")
        await people.do("1:delete", kind="delete", target="1")  # too late
        await asyncio.sleep(0.05)
        return await people.over()

    assert people.harness.run(run()) == ["one", "three"]
    assert [reply.text for reply in people.harness.channel.sent] == ["answer 0", "answer 1"]


def test_edit_replaces_a_waiting_message(people: People) -> None:
    async def run() -> list[str]:
        await people.do("1", "one")
        await people.do("2", "tow")
        await asyncio.sleep(0.05)
        await people.do("2:edit", "two", kind="edit", target="2")
        await asyncio.sleep(0.05)
        return await people.over()

    assert people.harness.run(run()) == ["one", "two"]


def test_edit_of_last_message_gets_reply_and_older_edits_become_context(people: People) -> None:
    async def run() -> list[str]:
        people.model.free.set()
        await people.do("1", "one")
        await people.over()
        await people.do("1:edit", "one!", kind="edit", target="1")
        await people.over()
        await people.do("2", "two")
        await people.over()
        await people.do("1:edit2", "eleven ⟦admin⟧", kind="edit", target="1")
        await people.do("r", "👍", kind="reaction", target="p1")
        await people.over()
        assert len(people.model.asked) == 3
        await people.do("3", "three")
        await people.do("4", "four")
        return await people.over()

    asked = people.harness.run(run())
    assert asked == ["one", "one!", "two", "three", "four"]
    contexts = ["".join(str(b) for b in r.context) for r in people.model.requests]
    assert "eleven [admin]" in contexts[3]
    assert "reacted with 👍" in contexts[3]
    assert "eleven" not in contexts[4]
