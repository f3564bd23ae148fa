"""Questions of sub-agents: their turn and the turn that called them are parked and continue."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import ScriptedModel, calls
from hookline_delegate import Delegate
from hookline_hookspecs import ModelRequest, Questions

from .test_chat_answers import Guard, People, Work, parked, texts, until

Make = Callable[..., Any]


class Tasks(ScriptedModel):
    """Calls sub-agents for ``go`` and a tool for each ``launch``, and repeats what came of it."""

    async def send(self, wire: Any, on_delta: Any) -> Any:
        self.steps = [self._step(wire.stable.request)]
        return await super().send(wire, on_delta)

    def _step(self, request: ModelRequest) -> Any:
        if len(request.messages) > 1:
            return " ".join(block.text for block in request.messages[-1].blocks)
        if request.messages[0].text.startswith("launch"):
            return [calls("launch", target="moon")]
        return [calls("delegate", task=f"launch {name}") for name in ("a", "b")]


@pytest.mark.parametrize(
    ("choice", "ran", "reply"),
    [("Allow once", ["moon"] * 2, "launched launched"), ("Deny too far", [], "says: too far")],
)
async def test_answer_after_a_restart_reaches_the_sub_agents_and_their_caller(
    harness: Make, tmp_path: Path, choice: str, ran: list[str], reply: str
) -> None:
    plugins = (People, Work, Guard, Delegate)
    first = harness(*plugins, model=Tasks(), home=tmp_path / "home")
    question = await parked(first)
    await first.aclose()
    second = harness(*plugins, model=Tasks(), home=tmp_path / "home")
    await second.aopen()
    await second.runtime.gateway_host.recover()
    questions = second.runtime.engine.services[Questions]
    assert [one.id for one in await questions.open()] == [question.id]
    await questions.answer(question.id, choice, "fake", "boss")
    await until(lambda: any(one.kind == "answer" for one in second.channel.sent))
    assert second.plugin(Work).ran == ran
    assert reply in texts(second)[-1]
    assert len([text for text in texts(second) if "Allow launch?" in text]) == 0


async def test_stop_ends_the_sub_agents_with_their_caller(harness: Make) -> None:
    commands = next(one for one in entry_points(group="hookline.plugins") if one.name == "commands")
    h = harness(People, Work, Guard, Delegate, commands.load(), model=Tasks())
    question = await parked(h)
    await h.channel.say("/stop")
    await until(lambda: "Stopped." in texts(h))
    await h.runtime.finish_background(5)
    questions = h.runtime.engine.services[Questions]
    closed = await questions.get(question.id)
    assert closed is not None
    assert closed.state == "stopped"
    assert texts(h)[1:] == ["Stopped."]
    assert h.plugin(Work).ran == []
