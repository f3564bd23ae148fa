"""The person that the audit names for a scheduled run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from hookline_audit import AuditPlugin
from hookline_hookspecs import GatewayHost, GatewayService
from hookline_scheduler import Scheduler

HOURS = 3600.0


def test_scheduled_run_is_audited_as_the_job_creator(
    harness: Callable[..., Any], clock: Any
) -> None:
    config = {"scheduler": {"look_every": 0.02, "timezone": "UTC"}}
    model = ["Hello Ben.", "all is well"]
    h = harness(AuditPlugin, Scheduler, config=config, model=model)
    clock.stop(1_790_000_000.0)

    async def life() -> None:
        await h.aopen()
        host = h.plugin(Scheduler).host
        for work in host.services.all(GatewayService):
            await work.gateway_up(["fake"])
        await host.services[GatewayHost].recover()
        await h.channel.say("/schedule add every 2h | How is it?", chat="team", user="ann")
        await h.channel.replies(1, 30)
        await h.channel.say("I am Ben", chat="team", user="ben")
        await h.channel.replies(2, 30)
        clock.stop(clock.now() + 2 * HOURS)
        async with asyncio.timeout(30):
            assert (await h.channel.replies(3, 30))[2].text == "all is well"

    h.run(life())
    rows = [json.loads(line) for line in h.cli("audit show --json").stdout.splitlines()]
    ran = [row for row in rows if row["session"].startswith("schedule-")]
    assert [row["kind"] for row in ran] == ["message", "model"]
    assert {row["actor"] for row in ran} == {"fake:ann"}
    assert {row["actor"] for row in rows} == {"fake:ann", "fake:ben"}
