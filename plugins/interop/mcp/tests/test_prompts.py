"""Prompts of servers made with the protocol's SDK, as slash commands."""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hookline_hookspecs import Conversations, Deny, Excerpt, Origin, Plugin, hookimpl
from hookline_mcp import Mcp
from support.web import free_port

SDK_SERVER = Path(__file__).parent / "sdk_server.py"


class Gate(Plugin):
    """Refuses what says `obey`."""

    @hookimpl
    def pre_read(self, ctx: Any, excerpt: Excerpt) -> Deny | None:
        return Deny("it gives orders") if "obey" in excerpt.text else None


@pytest.fixture
def sdk_home(mcp_home: Any) -> Any:
    """A home with the SDK's server, approved, over stdin and stdout."""
    entry = {"command": sys.executable, "args": [str(SDK_SERVER)], "sandbox": False}
    mcp_home.config["servers"]["sdk"] = {**entry, "approval": "never"}
    mcp_home.cli("mcp approve sdk --yes")
    return mcp_home


@pytest.fixture
def web_home(mcp_home: Any) -> Iterator[Any]:
    """The same over HTTP."""
    port = free_port()
    url = f"http://127.0.0.1:{port}/mcp"
    process = subprocess.Popen(
        [sys.executable, str(SDK_SERVER), str(port)], stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(200):
            try:
                urllib.request.urlopen(url, timeout=5).close()
            except urllib.error.HTTPError:
                break
            except OSError:
                time.sleep(0.1)
        mcp_home.core = {"network.allow_hosts": ["127.0.0.1"]}
        mcp_home.config["servers"]["sdk"] = {"url": url, "approval": "never"}
        mcp_home.cli("mcp approve sdk --yes")
        yield mcp_home
    finally:
        process.kill()
        process.wait()


def last_message(agent: Any) -> Any:
    """The last block that the model read."""
    return agent.model.requests[-1].messages[-1].blocks[-1]


@pytest.mark.long
def test_prompt_becomes_the_persons_message_with_the_server_as_origin(sdk_home: Any) -> None:
    agent = sdk_home.agent(model=["first", "second"])
    assert agent.send("/mcp__sdk__brief topic=tea style='very long'").text == "first"
    block = last_message(agent)
    assert block.text == "Write a very long brief on tea."
    assert Origin("outside", "MCP prompt sdk__brief") in block.origins
    assert agent.send("/mcp sdk__brief tea").text == "second"
    assert last_message(agent).text == "Write a short brief on tea."


@pytest.mark.slow
def test_prompt_of_a_service_is_sent(web_home: Any) -> None:
    agent = web_home.agent(model=["done"])
    assert agent.send("/mcp__sdk__brief green tea").text == "done"
    assert last_message(agent).text == "Write a tea brief on green."


@pytest.mark.slow
def test_prompts_are_listed_and_completed_without_a_connection(sdk_home: Any) -> None:
    agent = sdk_home.agent()
    assert agent.send("/mcp").text == (
        "/mcp__sdk__brief <topic> [style]: Brief someone on a topic.\n"
        "/mcp__sdk__order: Give an order."
    )
    commands = agent.plugin(Mcp).host.services[Conversations].commands()
    (mcp,) = [one for one in commands if one.name == "/mcp"]
    assert mcp.category == "mcp"
    assert mcp.complete is not None
    assert agent.run(mcp.complete("test", "bri")) == [
        ("sdk__brief", "<topic> [style] Brief someone on a topic.")
    ]


@pytest.mark.slow
def test_prompt_that_cannot_be_sent_names_the_reason(sdk_home: Any) -> None:
    agent = sdk_home.agent(Gate)
    assert agent.send("/mcp__sdk__brief").text == (
        "Missing: topic. Usage: /mcp__sdk__brief <topic> [style]"
    )
    assert "No prompt 'sdk__other'" in agent.send("/mcp__sdk__other").text
    assert agent.send("/mcp__sdk__order").text == "The prompt was not sent: it gives orders"
    assert not agent.model.requests


@pytest.mark.slow
def test_prompts_of_a_changed_server_are_not_offered(sdk_home: Any) -> None:
    sdk_home.config["servers"]["sdk"]["args"] = [str(SDK_SERVER), "--other"]
    agent = sdk_home.agent()
    assert agent.send("/mcp").text == "No approved MCP server offers prompts."
    assert "No prompt 'sdk__brief'" in agent.send("/mcp__sdk__brief tea").text
