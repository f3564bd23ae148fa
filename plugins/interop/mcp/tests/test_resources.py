"""Resources of servers made with the protocol's SDK."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import calls
from hookline_hookspecs import Deny, Excerpt, Plugin, hookimpl
from hookline_mcp import Mcp

SDK_SERVER = Path(__file__).parent / "sdk_server.py"


class Gate(Plugin):
    """Refuses what says `milk`."""

    @hookimpl
    def pre_read(self, ctx: Any, excerpt: Excerpt) -> Deny | None:
        return Deny("it has milk") if "milk" in excerpt.text else None


def sdk(mcp_home: Any, **more: Any) -> None:
    """Name and approve the SDK's server."""
    entry = {"command": sys.executable, "args": [str(SDK_SERVER)], "sandbox": False}
    mcp_home.config["servers"]["sdk"] = {**entry, "approval": "never", **more}
    mcp_home.cli("mcp approve sdk --yes")


@pytest.mark.long
def test_resources_are_listed_and_read_as_text_from_outside(mcp_home: Any) -> None:
    sdk(mcp_home)
    steps = [{"server": "sdk"}, *({"server": "sdk", "uri": f"notes://{d}"} for d in ("today", "x"))]
    agent = mcp_home.agent(model=[*(calls("mcp_resource", **one) for one in steps), "done"])
    listed, today, other = agent.send("go").tool_calls
    assert listed.text == (
        "notes://today today The notes of today.\nnotes://{day} day_notes The notes of a day."
    )
    assert (today.text, other.text) == ("Buy milk.", "Nothing on x.")
    assert "outside" in {one.kind for one in today.origins}


@pytest.mark.slow
def test_resources_pass_pre_read_and_need_approval(mcp_home: Any) -> None:
    sdk(mcp_home)
    withheld = mcp_home.agent(
        Gate, model=[calls("mcp_resource", server="sdk", uri="notes://today"), "done"]
    ).send("go")
    (result,) = withheld.tool_calls
    assert result.text == "Denied: notes://today of MCP server sdk was withheld: it has milk"
    del mcp_home.config["servers"]["sdk"]["approval"]
    tools = {one.name: one for one in mcp_home.agent().plugin(Mcp).host.tools()}
    assert tools["mcp_resource"].approval == "This reaches an MCP server."


def test_servers_without_resources_add_no_schema(mcp_home: Any) -> None:
    mcp_home.serve("small", mcp_home.tool("say"))
    agent = mcp_home.agent(model=["done"])
    agent.send("go")
    assert [one.name for one in agent.model.requests[-1].tools] == ["mcp__small__say"]
