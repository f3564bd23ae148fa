"""Hosts that a server's program reaches for while none of its calls runs become questions."""

from __future__ import annotations

import asyncio
import json
import shutil
from typing import Any

import pytest
from hookline.testing import calls
from hookline_mcp import Mcp
from hookline_mcp.host_questions import UnattendedHosts
from hookline_sandbox.network_access import NetworkAccess

Inspect = pytest.importorskip("hookline_inspect").Inspect
Permissions = pytest.importorskip("hookline_permissions").Permissions


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("bwrap"), reason="bubblewrap is not installed")
@pytest.mark.parametrize(
    ("choice", "status", "rules"),
    [
        ("Allow once", "502", []),  # the name does not exist, so the proxy cannot connect
        ("Allow new.invalid always in this chat", "502", ["network(new.invalid)"]),
        ("Deny", "The person did not allow", []),
    ],
)
def test_host_that_a_server_reaches_for_between_calls_is_a_question(
    mcp_home: Any, choice: str, status: str, rules: list[str]
) -> None:
    small = mcp_home.inside(mcp_home.tool("reach", "reach later"))
    mcp_home.config["servers"]["small"] = {**small.command, "approval": "never"}
    mcp_home.cli("mcp approve small --yes")
    reach = calls("mcp__small__reach", host="new.invalid")
    agent = mcp_home.agent(Inspect, Permissions, model=[reach, "done", "again"])
    agent.send("go", session="s")

    async def reached(words: str) -> str:
        async with asyncio.timeout(30):
            while True:
                file = small.plan.with_suffix(".reached")
                text = file.read_text("utf-8") if file.exists() else ""
                if words in text:
                    return text
                await asyncio.sleep(0.1)

    refused = agent.run(reached("403"))
    (question,) = json.loads(agent.cli("questions --json").stdout)
    assert question["kind"] == "approval"
    assert question["text"].startswith("Allow access to new.invalid? MCP server small")
    assert question["id"] in refused
    assert "Inbox" in refused
    done = agent.cli(f"questions answer {question['id']} '{choice}'")
    assert "new.invalid" in done.stdout
    agent.run(reached(status))
    agent.run(asyncio.sleep(1))
    agent.run(reached(status))
    assert json.loads(agent.cli("questions --json").stdout) == []
    listed = json.loads(agent.cli("permissions list --json").stdout)
    assert [row["rule"] for row in listed] == rules


def test_server_asks_about_few_hosts_between_calls(mcp_home: Any) -> None:
    agent = mcp_home.agent(Inspect, Permissions)

    async def reach() -> list[str | None]:
        await agent.aopen()
        host = agent.plugin(Mcp).host
        network = NetworkAccess(host, UnattendedHosts(host, "small"))
        return [await network.refusal(f"host{number}.example", 443) for number in range(8)]

    refused = agent.run(reach())
    assert len([text for text in refused if text and "is open" in text]) == 5
    assert len(json.loads(agent.cli("questions --json").stdout)) == 5
