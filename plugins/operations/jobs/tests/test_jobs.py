"""Due jobs run once, in whichever process looks first."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from hookline.testing import Clock
from hookline_hookspecs import GatewayHost, Inspection, Job, Plugin, hookimpl
from hookline_jobs import Jobs

Make = Callable[..., Any]
START = time.time()


def sweeper(every: float = 3600.0, *, at_start: bool = False, fault: bool = False) -> Any:
    class Sweeper(Plugin):
        """Has one job."""

        swept = 0

        @hookimpl
        def setup(self, host: Any) -> None:
            self.done = asyncio.Event()

        @hookimpl
        def register_jobs(self, register: Any) -> None:
            register(Job("sweep", self.sweep, every, at_start))

        async def sweep(self) -> None:
            self.swept += 1
            self.done.set()
            if fault:
                raise RuntimeError("the broom is broken")

    return Sweeper


def test_due_job_runs_once_after_a_turn(harness: Make) -> None:
    kind = sweeper()
    h = harness(Jobs, kind, model=["a", "b"])
    h.send("one")
    h.send("two")
    assert h.plugin(kind).swept == 1


def test_another_process_does_not_repeat_the_job(harness: Make, tmp_path: Path) -> None:
    kind = sweeper()
    first = harness(Jobs, kind, home=tmp_path, model=["a"])
    first.send("one")
    first.close()
    second = harness(Jobs, kind, home=tmp_path, model=["b"])
    second.send("two")
    assert second.plugin(kind).swept == 0


def test_two_processes_run_each_due_job_once(harness: Make, tmp_path: Path, clock: Clock) -> None:
    kind = sweeper()
    processes = [harness(Jobs, kind, home=tmp_path, model=["a"] * 9) for _ in range(2)]
    swept = []
    for hours, said in ((0, 0), (0, 1), (1, 1), (1, 0), (2, 0), (2, 1), (2.5, 1), (3.1, 1)):
        now = START + hours * 3600
        clock.stop(now)
        processes[said].send("hello", session=f"of {said}")
        swept.append([h.plugin(kind).swept for h in processes])
    assert swept == [[1, 0], [1, 0], [1, 1], [1, 1], [2, 1], [2, 1], [2, 1], [2, 2]]


def test_job_runs_again_after_its_interval(harness: Make, clock: Clock) -> None:
    kind = sweeper()
    h = harness(Jobs, kind, model=["a", "b"])
    h.send("one")
    clock.ahead(3601)
    h.send("two")
    assert h.plugin(kind).swept == 2


def test_at_start_job_runs_once_in_every_process(harness: Make, tmp_path: Path) -> None:
    kind = sweeper(at_start=True)
    swept = []
    for _ in range(2):
        h = harness(Jobs, kind, home=tmp_path, model=["a", "b"])
        h.send("one")
        h.send("two")
        swept.append(h.plugin(kind).swept)
        h.close()
    assert swept == [1, 1]


def test_idle_process_runs_due_job(harness: Make) -> None:
    kind = sweeper()
    h = harness(Jobs, kind, config={"jobs": {"look_every": 0.01}})

    async def live() -> None:
        await h.aopen()
        await h.plugin(kind).done.wait()

    h.run(live())
    assert h.plugin(kind).swept == 1


def test_failing_job_is_reported_and_others_run(harness: Make) -> None:
    bad = sweeper(fault=True)

    class Good(sweeper()):  # type: ignore[misc]
        """Its job runs all the same."""

    h = harness(Jobs, bad, Good, model=["a"], strict=False)
    assert h.send("one").text == "a"
    assert h.plugin(Good).swept == 1
    failures = h.plugin(Jobs).host.services[Inspection].failures()
    assert [(one.plugin, one.hook, one.reason) for one in failures] == [
        ("sweeper", "job sweep", "the broom is broken")
    ]


def test_sub_agent_turn_runs_no_jobs(harness: Make) -> None:
    kind = sweeper()
    h = harness(Jobs, kind, model=["a"])

    async def nested() -> None:
        await h.aopen()
        await h.plugin(Jobs).host.run_turn("go")
        await h.plugin(Jobs).host.services[GatewayHost].finish(5)

    h.run(nested())
    assert h.plugin(kind).swept == 0


def daily(at: str) -> Any:
    class Daily(Plugin):
        """Has a job at a time of day."""

        swept = 0

        @hookimpl
        def register_jobs(self, register: Any) -> None:
            register(Job("sweep", self.sweep, at=at))

        async def sweep(self) -> None:
            self.swept += 1

    return Daily


def test_job_at_a_time_of_day_runs_once_a_day(harness: Make, clock: Clock) -> None:
    hours_ahead = datetime.fromtimestamp(clock.now()) + timedelta(hours=2)
    kind = daily(hours_ahead.strftime("%H:%M"))
    h = harness(Jobs, kind, model=["a", "b", "c", "d", "e"])
    swept = []
    for hours in (0, 1, 3, 4, 28):
        clock.ahead(hours * 3600)
        h.send("hello")
        swept.append(h.plugin(kind).swept)
    assert swept == [0, 0, 1, 1, 2]


def test_jobs_list_shows_when_each_is_due(harness: Make, clock: Clock) -> None:
    h = harness(Jobs, sweeper(3600.0), daily("03:30"), model=["a"])
    h.send("hello")
    rows = {row["name"]: row for row in json.loads(h.cli("jobs list --json").stdout)}
    first, second = rows["sweeper/sweep"], rows["daily/sweep"]
    assert first["next"] - first["last"] == 3600
    assert second["at"] == "03:30"
    assert datetime.fromtimestamp(second["next"]).strftime("%H:%M") == "03:30"
    text = h.cli("jobs list").stdout
    assert "every 1 h" in text
    assert "daily 03:30" in text


def test_jobs_run_starts_a_job_that_is_not_due(harness: Make) -> None:
    kind = sweeper()
    h = harness(Jobs, kind, model=["a"])
    h.send("hello")
    done = h.cli("jobs run sweep")
    assert done.exit_code == 0
    assert "sweeper/sweep ran in" in done.stdout
    assert h.plugin(kind).swept == 2


def test_jobs_run_tells_why_a_job_failed(harness: Make) -> None:
    h = harness(Jobs, sweeper(fault=True), strict=False)
    done = h.cli("jobs run sweeper/sweep")
    assert done.exit_code == 1
    assert "job sweeper/sweep failed: the broom is broken" in done.stderr


def test_jobs_run_names_the_nearest_job(harness: Make) -> None:
    done = harness(Jobs, sweeper()).cli("jobs run swep")
    assert done.exit_code == 2
    assert "unknown job swep. Did you mean sweep?" in done.stderr
