"""Several processes on one home: restarts, kills, and one run for each due time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import calls
from hookline_hookspecs import GatewayHost, Inbound, Plugin, tool
from hookline_hookspecs.plugin import NoConfig

Make = Callable[..., Any]


def test_job_survives_restarts(make_home: Make, clock: Any) -> None:
    for number in range(3):
        home = make_home(model=[f"run {number}"])

        async def life(home: Any = home, number: int = number) -> None:
            await home.gateway()
            if number == 0:
                await home.say("/schedule add every 1h | Look.")
            clock.move(hours=1)
            assert await home.next_reply() == f"run {number}"
            await home.stop()

        home.run(life())


@pytest.mark.slow
def test_two_processes_run_each_due_job_once(make_home: Make, clock: Any) -> None:
    """Both look at the same time, over and over."""
    one, two = make_home(model=["ok"] * 50), make_home(model=["ok"] * 50)
    homes = (one, two)

    async def life() -> None:
        for home in homes:
            await home.gateway()
        for number in range(5):
            await one.say(f"/schedule add every 1h | Job {number}.", chat=str(number))
        for hour in range(1, 5):
            clock.move(hours=1)
            await asyncio.gather(*[home.scheduler.runner.check_due_jobs() for home in homes])
            await one.until(lambda hour=hour: len(one.prompts) + len(two.prompts) >= 5 * hour)
            await one.until(lambda: not any(home.scheduler.runner.busy for home in homes))
        await asyncio.gather(*[home.look() for home in homes])

    one.run(life())
    assert sorted([*one.prompts, *two.prompts]) == sorted([f"Job {n}." for n in range(5)] * 4)


def test_job_never_overlaps_itself(make_home: Make, clock: Any) -> None:
    one, two = make_home(model=["slow", "next"]), make_home(model=["never"])

    async def life() -> None:
        for home in (one, two):
            await home.gateway()
        one.turns.gate.clear()
        two.turns.gate.clear()
        await one.say("/schedule add every 1h | Look.")
        clock.move(hours=1)
        await one.until(lambda: one.prompts or two.prompts)
        for _ in range(4):
            clock.move(hours=1)
            await asyncio.gather(*[home.scheduler.runner.check_due_jobs() for home in (one, two)])
        assert len(one.prompts) + len(two.prompts) == 1
        assert "running" in await one.say("/schedule")
        for home in (one, two):
            home.turns.gate.set()
        await one.until(lambda: not one.scheduler.runner.busy and not two.scheduler.runner.busy)
        # What came due meanwhile is left out; the next one is in time.
        await asyncio.gather(one.look(), two.look())
        assert len(one.prompts) + len(two.prompts) == 1

    one.run(life())


def test_parallel_runs_are_limited(make_home: Make, clock: Any) -> None:
    home = make_home(model=["ok"] * 6, config={"parallel": 2})

    async def life() -> None:
        await home.gateway()
        home.turns.gate.clear()
        for number in range(6):
            await home.say(f"/schedule add in 1 hour | {number}", chat=str(number))
        clock.move(hours=1)
        await home.until(lambda: len(home.prompts) == 2)
        await home.scheduler.runner.check_due_jobs()
        assert len(home.prompts) == 2
        home.turns.gate.set()
        for _ in range(6):
            assert await home.next_reply() == "ok"

    home.run(life())
    assert sorted(home.prompts) == list("012345")


def test_stopping_gateway_finishes_its_run(make_home: Make, clock: Any) -> None:
    home, after = make_home(model=["done"]), make_home()

    async def life() -> list[str]:
        await home.gateway()
        await home.say("/schedule add in 1 hour | Look.")
        home.turns.gate.clear()
        clock.move(hours=1)
        await home.turns.arrived.wait()
        channel = home.harness.channel
        ending = asyncio.ensure_future(home.stop())
        await asyncio.sleep(0)
        home.turns.gate.set()
        await ending
        return [reply.text for reply in channel.sent[1:]]

    async def later() -> str:
        await after.gateway()
        return await after.next_reply()

    # It is reported before the end, or else by the next process.
    assert (home.run(life()) or [after.run(later())]) == ["done"]


def test_interrupted_run_is_reported_and_not_repeated(make_home: Make, clock: Any) -> None:
    home = make_home(model=["never"], config={"drain": 0.01})

    async def life() -> None:
        await home.gateway()
        await home.say("/schedule add every 1h | Send the letter.")
        home.turns.gate.clear()
        clock.move(hours=1)
        await home.turns.arrived.wait()
        await home.stop()

    home.run(life())
    after = make_home(model=["in time"])

    async def later() -> tuple[str, str]:
        await after.gateway()
        report = await after.next_reply()
        await after.look()
        assert after.prompts == []
        clock.move(hours=1)
        return report, await after.next_reply()

    report, following = after.run(later())
    assert "was interrupted" in report
    assert "The run of 2026-11-22 11:00 UTC is not repeated." in report
    assert following == "in time"


@pytest.mark.slow
def test_claimed_but_unstarted_run_runs_late(make_home: Make, clock: Any) -> None:
    """The process ends while the chat is busy, before the run could begin."""

    class Slow(Plugin[NoConfig]):
        working = asyncio.Event()

        @tool
        async def work(self) -> str:
            """Work for ever."""
            self.working.set()
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0.3)  # The end of the process takes its time.
            return ""

    home = make_home(model=[calls("work")], plugins=[Slow])

    async def life() -> None:
        await home.gateway()
        await home.say("/schedule add every 1h | Look.")
        await home.harness.channel.say("work")
        await home.harness.plugin(Slow).working.wait()
        clock.move(hours=1)
        await home.until(lambda: home.scheduler.runner.busy)
        assert home.prompts == []
        await home.stop()

    home.run(life())
    after = make_home(model=["answered", "looked"], plugins=[Slow])

    async def later() -> set[str]:
        await after.gateway()
        replies = {await after.next_reply(), await after.next_reply()}
        await after.look()
        return replies

    assert len(after.run(later())) == 2
    assert after.prompts == ["Look."]


def test_undelivered_result_is_delivered_once(make_home: Make, clock: Any) -> None:
    """The platform is away as the process ends."""
    home = make_home(model=["precious"])

    async def life() -> None:
        await home.gateway()
        await home.say("/schedule add in 1 hour | Look.")
        home.harness.channel.fail = 10**6
        clock.move(hours=1)
        await home.until(lambda: home.prompts)
        await home.look()
        await home.stop()

    home.run(life())
    for expected in (["precious"], []):
        after = make_home()

        async def later(after: Any = after) -> list[str]:
            await after.gateway()
            await after.look()
            await after.scheduler.host.services[GatewayHost].finish(30.0)
            return [reply.text for reply in after.harness.channel.sent]

        assert after.run(later()) == expected


def test_short_process_runs_no_jobs(make_home: Make, clock: Any) -> None:
    home = make_home(model=["hello"])
    home.harness.send("/schedule add every 1h | Look.")
    clock.move(hours=2)
    assert home.harness.send("Hello.").text == "hello"
    assert "every hour" in home.harness.send("/schedule").text
    assert home.prompts == []
    assert not home.scheduler.runner.is_running


def test_forged_scheduler_message_does_nothing(make_home: Make, clock: Any) -> None:
    home = make_home(model=["secret"])

    async def life() -> None:
        await home.gateway()
        await home.say("/schedule add in 1 hour | Look.", chat="mine")
        clock.move(hours=1)
        assert await home.next_reply() == "secret"
        rows = await home.scheduler.host.storage.fetch("last_runs")
        for what in ("begin", "result"):
            answer = await home.say(f"/schedule {what} {rows[0]['id']}", chat="other")
            assert "secret" not in answer
        # Even with a message id of its kind, on a channel where that is new.
        run = rows[0]["id"]
        text = f"/schedule result {run}"
        await home.scheduler.host.receive(
            Inbound("terminal", "default", "eve", f"schedule:{run}:result", text, session_id="x")
        )
        assert "terminal:ann" in await home.type("/whoami")
        await home.scheduler.host.services[GatewayHost].finish(30.0)
        assert home.screen.shown.empty()

    home.run(life())
    assert [reply.text for reply in home.harness.channel.sent].count("secret") == 1
    assert home.prompts == ["Look."]
