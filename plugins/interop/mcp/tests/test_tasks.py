"""Tools that a server runs as tasks: those that it runs only so, and those that it may."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import calls

ONLY = {"execution": {"taskSupport": "required"}}
MAY = {"execution": {"taskSupport": "optional"}}


def methods(log: Path) -> list[str]:
    return [json.loads(line).get("method", "") for line in log.read_text().splitlines()]


@pytest.mark.long
def test_tool_that_runs_only_as_a_task_is_called_and_its_result_read(
    mcp_home: Any, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    mcp_home.serve("small", mcp_home.tool("slow", polls=2, **ONLY), log=str(log))
    result = mcp_home.call("mcp__small__slow", {"words": "hello"})
    assert (result.ok, json.loads(result.text)) == (True, {"words": "hello"})
    sent = methods(log)
    assert [one for one in sent if one.startswith("tasks/")] == ["tasks/get"] * 3 + ["tasks/result"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("end", "message", "says"),
    [
        ("failed", "out of paper", "the task of slow failed: out of paper"),
        ("cancelled", "", "cancelled the task of slow"),
    ],
)
def test_task_that_fails_says_why(mcp_home: Any, end: str, message: str, says: str) -> None:
    tool = mcp_home.tool("slow", end=end, message=message, **ONLY)
    mcp_home.serve("small", tool)
    result = mcp_home.call("mcp__small__slow", {})
    assert not result.ok
    assert says in result.text


@pytest.mark.long
def test_tool_that_may_run_as_a_task_outlives_the_timeout_of_a_call(
    mcp_home: Any, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    small = mcp_home.serve("small", mcp_home.tool("slow", polls=15, **MAY), log=str(log))
    mcp_home.config["servers"]["small"] = small.config(timeout=1)
    result = mcp_home.call("mcp__small__slow", {"words": "hello"})
    assert (result.ok, json.loads(result.text)) == (True, {"words": "hello"})
    assert methods(log).count("tasks/get") == 16


@pytest.mark.parametrize("tasks", [False, "refused"])
def test_tool_that_may_run_as_a_task_is_called_directly_where_the_server_has_none(
    mcp_home: Any, tmp_path: Path, tasks: Any
) -> None:
    log = tmp_path / "log"
    mcp_home.serve("small", mcp_home.tool("quick", **MAY), log=str(log), tasks=tasks)
    assert mcp_home.call("mcp__small__quick", {"a": "1"}).text == '{"a": "1"}'
    assert not any(one.startswith("tasks/") for one in methods(log))


def test_stopped_turn_cancels_the_task(mcp_home: Any, tmp_path: Path) -> None:
    log = tmp_path / "log"
    mcp_home.serve("small", mcp_home.tool("slow", polls=10_000, **MAY), log=str(log))
    agent = mcp_home.agent(model=[calls("mcp__small__slow")])

    async def stop() -> None:
        await agent.aopen()
        turn = asyncio.ensure_future(agent.asend("go"))
        async with asyncio.timeout(60):
            while not log.exists() or "tasks/get" not in methods(log):
                await asyncio.sleep(0.05)
            await agent.asend("/stop")
            await turn

    agent.run(stop())
    assert methods(log)[-1] == "tasks/cancel"
