"""Runs: on time, in the chat that added the job, in a fresh session, reported once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import calls
from hookline_hookspecs import Deny, Inbound, NetworkError, Plugin, hookimpl, tool
from hookline_hookspecs.plugin import NoConfig

Make = Callable[..., Any]
WAIT = 30.0


def test_job_runs_each_time_it_is_due(make_home: Make, clock: Any) -> None:
    home = make_home(model=["all is well", "still well"])

    async def life() -> None:
        await home.gateway()
        answer = await home.say("/schedule add every 2h | How is the server?")
        assert "every 2 hours · next 2026-11-22 12:00 UTC · UTC" in answer
        await home.look()
        assert home.prompts == []
        clock.move(hours=2)
        assert await home.next_reply() == "all is well"
        clock.move(hours=2)
        assert await home.next_reply() == "still well"
        assert home.prompts == ["How is the server?"] * 2

    home.run(life())
    assert [reply.session.chat_id for reply in home.harness.channel.sent] == ["chat"] * 3


def test_job_prompt_is_never_run_as_command(make_home: Make, clock: Any) -> None:
    home = make_home(model=["only words"])

    async def life() -> None:
        await home.gateway()
        await home.say("/schedule add every 2h | /grants revoke 1")
        clock.move(hours=2)
        assert await home.next_reply() == "only words"
        assert home.prompts == ["/grants revoke 1"]

    home.run(life())


def test_each_run_has_its_own_session_and_same_prompt_size(make_home: Make, clock: Any) -> None:
    home = make_home(model=["a", "b", "c", "d"])

    async def life() -> None:
        await home.gateway()
        await home.say("/schedule add every 1h | Look.")
        for expected in "abcd":
            clock.move(hours=1)
            assert await home.next_reply() == expected

    home.run(life())
    sessions = [turn.session for turn in home.turns.begun]
    assert len({session.id for session in sessions}) == 4
    assert {session.kind for session in sessions} == {"schedule"}
    # A heartbeat's context does not grow: one message each, and equally long.
    assert [len(request.messages) for request in home.model.requests] == [1] * 4
    assert len({len(wire.fragments[0]) for wire in home.model.wires}) == 1
    assert "schedule" not in home.model.requests[0].messages[0].text


@pytest.mark.slow
def test_old_run_sessions_are_deleted(make_home: Make, clock: Any) -> None:
    home = make_home(model=["beat"] * 24)

    async def sessions() -> set[str]:
        found = await home.scheduler.host.sessions(kind="schedule", limit=100)
        return {session.id for session in found}

    async def life() -> None:
        await home.gateway()
        await home.say("/schedule add every 1h | Look.")
        for _ in range(24):
            clock.move(hours=1)
            assert await home.next_reply() == "beat"
        async with asyncio.timeout(WAIT):
            while len(await sessions()) > 21:  # twenty, and one that is not marked as reported
                await asyncio.sleep(0.01)
        assert home.turns.begun[-1].session.id in await sessions()
        assert home.turns.begun[0].session.id not in await sessions()

    home.run(life())


def test_job_prompt_context_names_job_and_silence_marker(make_home: Make, clock: Any) -> None:
    home = make_home(model=["ok"])

    async def life() -> str:
        await home.gateway()
        job = await home.added(home.say("/schedule add in 5 minutes | Look."))
        clock.move(minutes=5)
        await home.next_reply()
        return job

    job = home.run(life())
    context = home.model.last.ephemeral
    assert f"job {job} (once, 2026-11-22 10:05 UTC)" in context
    assert "[SILENT]" in context
    assert "Late" not in context


def test_silent_result_is_not_delivered(make_home: Make, clock: Any) -> None:
    home = make_home(model=["[SILENT]", " `[SILENT]`.\n", "[SILENT] is what I would say"])

    async def life() -> None:
        await home.gateway()
        await home.say("/schedule add every 1h | Look.")
        for _ in range(2):
            clock.move(hours=1)
            await home.look()
        clock.move(hours=1)
        assert await home.next_reply() == "[SILENT] is what I would say"

    home.run(life())
    assert len(home.harness.channel.sent) == 2


def test_repeated_failure_is_reported_once(make_home: Make, clock: Any) -> None:
    away = NetworkError("the model is away")
    home = make_home(model=[away, away, away, "back", away], strict=False)

    async def life() -> list[str]:
        await home.gateway()
        await home.say("/schedule add every 1h | Look.")
        for hour in range(1, 6):
            clock.move(hours=1)
            await home.until(lambda hour=hour: len(home.turns.begun) == hour)
            await home.look()
        return [await home.next_reply() for _ in range(3)]

    first, second, third = home.run(life())
    assert "failed: the model is away" in first
    assert "not reported until it succeeds again" in first
    assert second == "back"
    assert "failed: the model is away" in third
    assert len(home.harness.channel.sent) == 4


def test_run_uses_chat_workspace_after_new(make_home: Make, clock: Any) -> None:
    class Where(Plugin[NoConfig]):
        @tool(read_only=True)
        def where(self, ctx: Any) -> str:
            """Where tools work."""
            return f"{ctx.channel} {ctx.session.chat_id} {ctx.paths.workspace}"

    answers = [calls("where"), "done", calls("where"), "done again"]
    home = make_home(model=answers, plugins=[Where], core={"workspace": "."})

    async def life() -> None:
        await home.gateway()
        await home.say("/schedule add every 1h | Look.", chat="a/b")
        clock.move(hours=1)
        assert await home.next_reply() == "done"
        await home.say("/new", chat="a/b")
        clock.move(hours=1)
        assert await home.next_reply() == "done again"

    home.run(life())
    work = home.harness.home / "chats" / "fake" / "a%2Fb" / "work"
    results = [m.blocks[0] for r in home.model.requests for m in r.messages[2:]]
    assert {block.text for block in results} == {f"fake a/b {work}"}  # type: ignore[union-attr]


def test_run_asks_nobody_and_cannot_add_jobs(make_home: Make, clock: Any) -> None:
    class Risky(Plugin[NoConfig]):
        interactive: bool | None = None

        @tool(approval="it is risky")
        def explode(self, ctx: Any) -> str:
            """Explode."""
            return "boom"

        @hookimpl
        def pre_prompt(self, ctx: Any, turn: Any) -> None:
            if turn.session.kind == "schedule":
                self.interactive = ctx.interactive

    home = make_home(model=[calls("explode"), "I was not allowed to."], plugins=[Risky])

    async def life() -> None:
        await home.gateway()
        await home.say("/schedule add every 1h | Explode.")
        clock.move(hours=1)
        assert await home.next_reply() == "I was not allowed to."

    home.run(life())
    assert home.harness.plugin(Risky).interactive is False
    assert "schedule" not in [schema.name for schema in home.model.requests[0].tools]
    assert "boom" not in str(home.model.requests[-1].messages)


def test_job_of_removed_user_is_paused(make_home: Make, clock: Any) -> None:
    class Door(Plugin[NoConfig]):
        shut_for = ""

        @hookimpl
        def on_message(self, ctx: Any, inbound: Inbound) -> Deny | None:
            return Deny("I do not know you.") if inbound.user_id == self.shut_for else None

    home = make_home(plugins=[Door], model=["never"])

    async def life() -> str:
        await home.gateway()
        await home.say("/schedule add every 1h | Look.", user="eve")
        home.harness.plugin(Door).shut_for = "eve"
        clock.move(hours=1)
        assert await home.next_reply() == "I do not know you."
        await home.until(lambda: not home.scheduler.runner.busy)
        for _ in range(3):
            clock.move(hours=1)
            await home.look()
        return await home.say("/schedule", user="bob")

    assert "paused" in home.run(life())
    assert home.prompts == []
    assert len(home.harness.channel.sent) == 3


def test_run_over_time_limit_is_stopped_and_reported(make_home: Make, clock: Any) -> None:
    home = make_home(model=["never"], config={"timeout": 0.05})

    async def life() -> str:
        await home.gateway()
        home.turns.gate.clear()
        await home.say("/schedule add every 1h | Look.")
        clock.move(hours=1)
        return await home.next_reply()

    assert "it took longer than 0.05 s" in home.run(life())


@pytest.mark.parametrize("prompt", ["/help", "/schedule begin x", "a | b | c", "äöü 雪 \u202e"])
def test_job_prompt_reaches_model_unchanged(make_home: Make, clock: Any, prompt: str) -> None:
    home = make_home(model=["ok"])

    async def life() -> None:
        await home.gateway()
        await home.say(f"/schedule add in 1 hour | {prompt}")
        clock.move(hours=1)
        await home.next_reply()

    home.run(life())
    assert home.prompts == [prompt]
    assert home.model.last.messages[0].text == prompt


def test_job_removed_while_running_sends_nothing(make_home: Make, clock: Any) -> None:
    home = make_home(model=["late words", "hello"])

    async def life() -> str:
        await home.gateway()
        job = await home.added(home.say("/schedule add every 1h | Look."))
        home.turns.gate.clear()
        clock.move(hours=1)
        await home.turns.arrived.wait()
        assert "without sending anything" in await home.say(f"/schedule remove {job}")
        home.turns.gate.set()
        await home.look()
        return await home.say("hi")

    assert home.run(life()) == "hello"


def test_one_shot_is_removed_when_done_and_kept_when_failed(make_home: Make, clock: Any) -> None:
    home = make_home(model=["done", NetworkError("away"), "done at last"], strict=False)

    async def life() -> None:
        await home.gateway()
        await home.say("/schedule add in 1 hour | One.")
        clock.move(hours=1)
        assert await home.next_reply() == "done"
        assert (await home.say("/schedule")).startswith("No jobs.")
        job = await home.added(home.say("/schedule add in 1 hour | Two."))
        clock.move(hours=1)
        assert f"/schedule run {job}" in await home.next_reply()
        assert "paused · failed: away" in await home.say("/schedule list")
        await home.say(f"/schedule run {job}")
        assert await home.next_reply() == "done at last"
        assert (await home.say("/schedule")).startswith("No jobs.")

    home.run(life())
