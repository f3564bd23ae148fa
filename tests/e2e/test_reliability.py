"""Every reliability scenario in its short form: nothing is lost, doubled or mixed up.

Times and sizes are told by ``python -m support.reliability.run`` and never asserted here.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from support.reliability.fill import add_backlog
from support.reliability.platform import Message
from support.reliability.result import Result
from support.reliability.run import SCENARIOS, run
from support.reliability.stage import judge, judge_replies, stage
from support.reliability.wire import Line


@pytest.mark.slow
def test_short_storm_loses_nothing() -> None:
    """What the short form does, with one kill in twelve."""
    result = run("storm", messages=20, kills=2, chats=4)
    assert not result.broken(), result.table()


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_reliability_scenario_keeps_its_invariants(scenario: str) -> None:
    result = run(scenario)
    assert not result.broken(), result.table()


@pytest.mark.slow
async def test_message_during_start_is_answered_once_and_after_the_backlog() -> None:
    result = Result("start")
    async with stage(1) as on:
        await on.node.start()
        line, first = Line(on.node.port), Message("m0", "c0", "[m0] hello")
        await on.platform.deliver(line, first)
        line.close()
        await on.platform.answered([first])
        await on.node.stop()
        chats = [f"c{number}" for number in range(8)]
        waiting = [Message(f"old{chat}", chat, "", taken=time.monotonic()) for chat in chats]
        add_backlog(on.node.database, [m.id for m in waiting], chats)
        on.platform.retry = 0.002
        new = [Message(f"n{n}", chats[n % 8], f"[n{n}] hello") for n in range(40)]
        sending = asyncio.create_task(on.platform.deliver_all(new, workers=8))
        await on.node.start()
        await sending
        await on.platform.answered([*waiting, *new])
        judge(result, on, [first, *waiting, *new], [])
    assert not result.broken(), result.table()


@pytest.mark.slow
async def test_turn_interrupted_by_a_full_disk_is_finished_before_the_next(tmp_path: Path) -> None:
    result = Result("full disk")
    async with stage(1, delay=(0.5, 0.5)) as on:
        disk = tmp_path / "disk"
        disk.write_text("ok")
        on.node.env["HARNESS_DISK"] = str(disk)
        await on.node.start()
        line = Line(on.node.port)
        messages = [Message(f"m{n}", "c0", f"[m{n}] hello") for n in range(4)]
        await on.platform.deliver(line, messages[0])
        await on.platform.answered(messages[:1])
        for message in messages[1:3]:
            await on.platform.deliver(line, message)
        while ("m1", 0) not in on.model.calls:
            await asyncio.sleep(0.01)
        disk.write_text("full")
        await asyncio.sleep(1.5)
        disk.write_text("ok")
        await on.platform.deliver(line, messages[3])
        line.close()
        late = await on.platform.answered(messages, patience=10.0)
        await on.node.stop()
        await on.node.start()
        await on.platform.answered(late)
        judge_replies(result, on, messages, failed=True)
    assert not result.broken(), result.table()
