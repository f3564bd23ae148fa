"""``hookline run`` with a session whose turn waits for an answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from hookline.testing import Harness, calls
from hookline.testing.harness import EveryoneMayAnswer
from hookline_hookspecs import Access, Host, Plugin, Questions, StoredQuestion, hookimpl, tool
from hookline_run import Run

MakeHarness = Callable[..., Harness]


class Door(Plugin):
    """A tool that asks, and people who may answer."""

    @tool(approval="it is somebody's door")
    def knock(self) -> str:
        """Knock at the door."""
        return "Come in."

    @hookimpl
    def setup(self, host: Host) -> None:
        host.services.provide(Access, EveryoneMayAnswer())


async def _parked(h: Harness) -> StoredQuestion:
    """A turn of the network channel that waits for an approval."""
    runtime = await h.aopen()
    await h.channel.say("Knock")
    await h.channel.replies(1)
    (question,) = await runtime.engine.services[Questions].open()
    return question


def _lines(done: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_run_prints_the_open_question_and_sends_nothing(harness: MakeHarness) -> None:
    h = harness(Run, Door, model=[calls("knock"), "They are at home."])
    question = h.run(_parked(h))
    done = h.cli(f"run hello --session {question.session}")
    assert (done.exit_code, question.text in done.stdout) == (0, True)
    assert f"hookline questions answer {question.id} CHOICE" in done.stderr
    lines = _lines(h.cli(f"run hello --json --session {question.session}"))
    assert [line["type"] for line in lines] == ["question", "result"]
    assert (lines[0]["id"], lines[0]["choices"]) == (question.id, ["Allow once", "Deny"])
    assert (lines[1]["stop"], lines[1]["session"]) == ("question", question.session)
    assert len(h.model.requests) == 1


def test_resume_waits_for_the_answer_and_the_end(harness: MakeHarness) -> None:
    h = harness(Run, Door, model=[calls("knock"), "They are at home."])

    async def resume() -> Any:
        question = await _parked(h)
        command = f"run --resume --json --session {question.session}"
        running = asyncio.create_task(h.acli(command))
        await asyncio.sleep(0.2)
        assert not running.done()
        await h.runtime.engine.services[Questions].answer(question.id, "1", "fake", "ann")
        return await running

    done = h.run(resume())
    (result,) = [line for line in _lines(done) if line["type"] == "result"]
    assert (done.exit_code, result["text"], result["stop"]) == (0, "They are at home.", "done")
    assert result["tool_calls"] == 1


def test_resume_without_an_unfinished_turn_says_so(harness: MakeHarness) -> None:
    h = harness(Run, Door, model=["Hello."])
    h.cli("run hello --session s")
    for command, said in (
        ("run --session s --resume", "no turn of the session s is unfinished"),
        ("run --resume", "--resume needs the session"),
        ("run hello --session s --resume", "--resume takes no prompt"),
    ):
        done = h.cli(command)
        assert (done.exit_code, said in done.stderr) == (2, True)
