"""Downtime, changed clocks and daylight saving, as a chat sees them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

Make = Callable[..., Any]


def test_missed_runs_become_one_late_run(make_home: Make, clock: Any) -> None:
    first = make_home()

    async def before() -> None:
        await first.gateway()
        await first.say("/schedule add every day 9:00 Europe/Berlin | News?")
        await first.stop()

    first.run(before())
    clock.set("2026-11-26T09:30Z")
    second = make_home(model=["the news", "more news"])

    async def after() -> tuple[str, str]:
        await second.gateway()
        late = await second.next_reply()
        await second.look()
        assert second.prompts == ["News?"]
        clock.set("2026-11-27T08:00Z")
        return late, await second.next_reply()

    late, in_time = second.run(after())
    assert late == (
        "(Late: this was due 2026-11-23 09:00 CET and is run 2026-11-26 10:30 CET.)\n\nthe news"
    )
    assert in_time == "more news"
    contexts = [request.ephemeral for request in second.model.requests]
    assert ["Late" in text for text in contexts] == [True, False]


def test_missed_one_shot_runs_late(make_home: Make, clock: Any) -> None:
    first = make_home()

    async def before() -> None:
        await first.gateway()
        await first.say("/schedule add in 20 minutes | Tea!")
        await first.stop()

    first.run(before())
    clock.move(days=1)
    second = make_home(model=["Tea."])

    async def after() -> str:
        await second.gateway()
        return await second.next_reply()

    assert second.run(after()).startswith("(Late: this was due 2026-11-22 10:20 UTC")


def test_clock_jump_ahead_causes_one_run(make_home: Make, clock: Any) -> None:
    home = make_home(model=["late", "in time"])

    async def life() -> None:
        await home.gateway()
        await home.say("/schedule add every 1h | Look.")
        clock.move(days=30, minutes=59)
        assert (await home.next_reply()).startswith("(Late: this was due 2026-11-22 11:00 UTC")
        await home.look()
        assert len(home.prompts) == 1
        # The rhythm is kept: at the full hour.
        clock.set("2026-12-22T11:00Z")
        assert await home.next_reply() == "in time"

    home.run(life())


@pytest.mark.parametrize(
    "when", ["every 1h", "0 * * * *", "every day 11:00"], ids=["interval", "cron", "daily"]
)
def test_clock_set_back_repeats_no_run(make_home: Make, clock: Any, when: str) -> None:
    home = make_home(model=["eleven", "next"])

    async def life() -> None:
        await home.gateway()
        await home.say(f"/schedule add {when} | Look.")
        clock.set("2026-11-22T11:00Z")
        assert await home.next_reply() == "eleven"
        clock.set("2026-11-22T10:50Z")
        await home.look()
        clock.set("2026-11-22T11:00Z")
        await home.look()
        clock.set("2026-11-22T11:59Z")
        await home.look()
        assert len(home.prompts) == 1
        clock.set("2026-11-23T11:00Z" if "day" in when else "2026-11-22T12:00Z")
        assert await home.next_reply() == "next"

    home.run(life())


@pytest.mark.parametrize("when", ["every 1h", "0 * * * *"], ids=["interval", "cron"])
def test_job_runs_after_far_ahead_clock_is_corrected(
    make_home: Make, clock: Any, when: str
) -> None:
    """A machine that starts with a wrong clock, which is corrected."""
    home = make_home(model=["first", "second"])

    async def life() -> None:
        await home.gateway()
        clock.set("2031-01-01T10:00Z")
        await home.say(f"/schedule add {when} | Look.")
        clock.set("2031-01-01T11:00Z")
        assert await home.next_reply() == "first"
        clock.set("2026-11-22T10:30Z")
        await home.look()
        clock.set("2026-11-22T11:00Z")
        assert await home.next_reply() == "second"

    home.run(life())


def test_job_runs_after_clock_was_set_back_during_downtime(make_home: Make, clock: Any) -> None:
    clock.set("2031-01-01T10:00Z")
    first = make_home()

    async def before() -> None:
        await first.gateway()
        await first.say("/schedule add 0 * * * * | Look.")
        await first.stop()

    first.run(before())
    clock.set("2026-11-22T10:30Z")
    second = make_home(model=["ok"])

    async def after() -> str:
        await second.gateway()
        await second.look()
        clock.set("2026-11-22T11:00Z")
        return await second.next_reply()

    assert second.run(after()) == "ok"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("zone", "start", "runs"),
    [
        # Spring in Berlin: 02:30 is left out on March 28th.
        (
            "Europe/Berlin",
            "2027-03-27T00:00Z",
            ["2027-03-27T01:30Z", "2027-03-28T01:00Z", "2027-03-29T00:30Z"],
        ),
        # Autumn in Berlin: 02:30 comes twice on October 31st.
        (
            "Europe/Berlin",
            "2027-10-30T00:00Z",
            ["2027-10-30T00:30Z", "2027-10-31T00:30Z", "2027-11-01T01:30Z"],
        ),
        (
            "America/New_York",
            "2027-03-13T00:00Z",
            ["2027-03-13T07:30Z", "2027-03-14T07:00Z", "2027-03-15T06:30Z"],
        ),
        (
            "Australia/Sydney",
            "2027-10-01T20:00Z",
            ["2027-10-02T16:00Z", "2027-10-03T15:30Z", "2027-10-04T15:30Z"],
        ),
    ],
    ids=["berlin-spring", "berlin-autumn", "new-york-spring", "sydney-spring"],
)
def test_daily_job_runs_once_a_day_over_daylight_saving(
    make_home: Make, clock: Any, zone: str, start: str, runs: list[str]
) -> None:
    """At 02:30 each day, looked at every ten minutes for three days: once a day."""
    clock.set(start)
    home = make_home(model=["ok"] * 9, config={"look_every": 30})
    begun: list[float] = []

    async def life() -> None:
        await home.gateway()
        await home.say(f"/schedule add every day 2:30 {zone} | Look.")
        for _ in range(3 * 24 * 6):
            clock.move(minutes=10)
            await home.look()
            begun.extend([clock.now] * (len(home.prompts) - len(begun)))

    home.run(life())
    expected = [datetime.fromisoformat(text).timestamp() for text in runs]
    assert begun[: len(expected)] == expected
    assert len(begun) == len(expected)
