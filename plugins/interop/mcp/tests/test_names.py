"""Names of servers and tools: valid for providers, and unique."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hookline_mcp.config import name_problem
from hookline_mcp.names import full_name
from hypothesis import given
from hypothesis import strategies as st

CALLABLE = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
servers = st.from_regex(r"[a-z0-9]{1,8}([_-][a-z0-9]{1,8}){0,2}", fullmatch=True)
tools = st.text(min_size=1, max_size=140) | st.from_regex(r"[\w.:/ -]{1,90}", fullmatch=True)


@given(servers, tools)
def test_full_name_is_valid_for_providers(server: str, tool: str) -> None:
    assert CALLABLE.fullmatch(full_name(server, tool))


@given(servers, servers, tools, tools)
def test_full_names_are_unique(one: str, other: str, first: str, second: str) -> None:
    if (one, first) != (other, second):
        assert full_name(one, first) != full_name(other, second)


@pytest.mark.parametrize("name", ["", "a__b", "a b", "-a", "a_", "ä", "a.b", "x" * 33, "a/b"])
def test_invalid_server_name_is_refused(name: str) -> None:
    assert name_problem(name)


@pytest.mark.slow
def test_tools_with_odd_names_are_callable(mcp_home: Any) -> None:
    names = ["a.b", "a_b", "a b", "x" * 100, "__proto__", "\u202ereversed"]
    mcp_home.serve("odd", *[mcp_home.tool(name) for name in names])
    rows = json.loads(mcp_home.cli("mcp tools odd --json"))
    assert {row["tool"] for row in rows} == set(names)
    known = {row["tool"]: row["name"] for row in rows}
    assert len(set(known.values())) == len(names)
    assert known["a_b"] == "mcp__odd__a_b"
    for name in names:
        assert mcp_home.call(known[name], {"text": name}).text == json.dumps({"text": name})


def test_tool_with_same_full_name_is_not_offered(mcp_home: Any) -> None:
    for name in ("a.b", "x" * 100):
        taken = full_name("odd", name).removeprefix("mcp__odd__")
        small = mcp_home.server(mcp_home.tool(name), mcp_home.tool(taken))
        mcp_home.config["servers"]["odd"] = small.config()
        output = mcp_home.cli("mcp approve odd --yes")
        assert f"{taken} is not offered: another tool has the same full name" in output
        assert mcp_home.call(full_name("odd", name)).ok


@pytest.mark.long
def test_tool_cannot_take_name_of_another_servers_tool(mcp_home: Any) -> None:
    mcp_home.serve("mail", mcp_home.tool("send", "the real one"))
    mcp_home.serve(
        "mai", mcp_home.tool("l__send", "a false one"), mcp_home.tool("__mail__send", "false")
    )
    assert mcp_home.call("mcp__mail__send").text == "the real one"
