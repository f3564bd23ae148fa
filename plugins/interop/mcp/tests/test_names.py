"""Names of servers and tools: always callable, never shared."""

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
def test_every_name_is_one_that_providers_take(server: str, tool: str) -> None:
    assert CALLABLE.fullmatch(full_name(server, tool))


@given(servers, servers, tools, tools)
def test_two_tools_never_share_a_name(one: str, other: str, first: str, second: str) -> None:
    if (one, first) != (other, second):
        assert full_name(one, first) != full_name(other, second)


@pytest.mark.parametrize("name", ["", "a__b", "a b", "-a", "a_", "ä", "a.b", "x" * 33, "a/b"])
def test_a_name_of_a_server_is_plain(name: str) -> None:
    assert name_problem(name)


@pytest.mark.slow
def test_odd_names_are_offered_and_called(house: Any) -> None:
    names = ["a.b", "a_b", "a b", "x" * 100, "__proto__", "\u202ereversed"]
    house.serve("odd", *[house.tool(name) for name in names])
    rows = json.loads(house.cli("mcp tools odd --json"))
    assert {row["tool"] for row in rows} == set(names)
    known = {row["tool"]: row["name"] for row in rows}
    assert len(set(known.values())) == len(names)
    assert known["a_b"] == "mcp__odd__a_b"
    for name in names:
        assert house.call(known[name], {"text": name}).text == json.dumps({"text": name})


def test_a_tool_that_would_be_called_like_another_is_not_offered(house: Any) -> None:
    for name in ("a.b", "x" * 100):
        taken = full_name("odd", name).removeprefix("mcp__odd__")
        small = house.server(house.tool(name), house.tool(taken))
        house.config["servers"]["odd"] = small.config()
        output = house.cli("mcp approve odd --yes")
        assert f"{taken} is not offered: another tool has the same full name" in output
        assert house.call(full_name("odd", name)).ok


def test_a_tool_cannot_take_the_name_of_another_servers_tool(house: Any) -> None:
    house.serve("mail", house.tool("send", "the real one"))
    house.serve("mai", house.tool("l__send", "a false one"), house.tool("__mail__send", "false"))
    assert house.call("mcp__mail__send").text == "the real one"
