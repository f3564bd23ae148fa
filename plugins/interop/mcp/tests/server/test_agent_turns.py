"""Turns started by MCP clients: approvals, origins and sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import calls
from hookline_hookspecs import Context, GatewayHost, Plugin, hookimpl, tool
from hookline_mcp_server import McpServer

from .conftest import Served, called, until

Serve = Callable[..., Served]


class Bomb(Plugin):
    """A tool that a person must approve."""

    went_off = 0

    @tool(approval="it explodes")
    def explode(self) -> str:
        """Explode."""
        type(self).went_off += 1
        return "boom"


class Aimed(Plugin):
    """A tool whose call names a target."""

    @tool(approval="it explodes")
    def explode(self, where: str) -> str:
        """Explode."""
        return "boom"


class OriginRecorder(Plugin):
    """Notes whose words a turn has."""

    heard: tuple[str, ...] = ()

    @hookimpl
    def post_model(self, ctx: Context, response: Any) -> None:
        """Note the origins."""
        type(self).heard = tuple(one.kind for one in ctx.origins)


@pytest.fixture(autouse=True)
def _fresh() -> None:
    Bomb.went_off = 0


def test_turn_of_caller_gets_no_approvals(serve: Serve) -> None:
    served = serve(Bomb, model=[calls("explode"), "it was refused"])
    answer = served.call("ask_agent", prompt="explode")
    assert answer["text"] == "it was refused"
    assert answer["tool_calls"] == [{"name": "explode", "ok": False}]
    assert Bomb.went_off == 0


@pytest.mark.parametrize(("trust", "outside"), [(False, True), (True, False)])
def test_prompt_of_caller_has_outside_origin_unless_trusted(
    serve: Serve, trust: bool, outside: bool
) -> None:
    serve(OriginRecorder, model=["heard"], trust=trust).call("ask_agent", prompt="listen")
    assert ("outside" in OriginRecorder.heard) == outside
    assert "operator" not in OriginRecorder.heard


@pytest.mark.slow
def test_caller_continues_only_its_own_sessions(serve: Serve) -> None:
    served = serve(model=["mine", "one", "two"])
    served.harness.send("private", session="own")
    first = served.call("ask_agent", prompt="begin")
    again = served.call("ask_agent", prompt="go on", session=first["session"])
    assert again["session"] == first["session"]
    assert len(served.call("messages_read", session=first["session"])["messages"]) == 4
    assert "belongs to" in served.call("ask_agent", prompt="go on", session="own")
    assert "unknown session" in served.call("ask_agent", prompt="go on", session="nothing")


@pytest.mark.slow
@pytest.mark.parametrize(("choice", "times"), [("Allow once", 1), ("Deny", 0)])
def test_caller_answers_approval_only_if_config_allows(
    serve: Serve, choice: str, times: int
) -> None:
    model = [calls("explode"), "over"]
    served = serve(Bomb, model=model, allow=["permissions_respond"])

    async def talk(client: Any) -> Any:
        asked = asyncio.ensure_future(called(client, "ask_agent", prompt="explode"))
        cursor = (await called(client, "events_wait", seconds=0))["cursor"]
        found: list[Any] = []
        while not found:
            output = await called(client, "events_wait", cursor=cursor)
            cursor = output["cursor"]
            found = [one for one in output["events"] if one["type"] == "question"]
        wrong = await called(client, "permissions_respond", question="x", choice="Allow once")
        greedy = await called(
            client, "permissions_respond", question=found[0]["id"], choice="Allow always"
        )
        assert wrong.startswith("Error: ")
        assert greedy.startswith("Error: ")
        await called(client, "permissions_respond", question=found[0]["id"], choice=choice)
        return await asked

    assert served.talk(talk)["text"] == "over"
    assert Bomb.went_off == times


@pytest.mark.slow
def test_approving_caller_sees_the_whole_call(serve: Serve) -> None:
    padding = "#" * 20_000
    model = [calls("explode", where=f"here {padding} and there"), "over"]
    served = serve(Aimed, model=model, allow=["permissions_respond"])

    async def talk(client: Any) -> Any:
        asked = asyncio.ensure_future(called(client, "ask_agent", prompt="explode"))
        found: list[Any] = []
        cursor = ""
        while not found:
            output = await called(client, "events_wait", **({"cursor": cursor} if cursor else {}))
            cursor = output["cursor"]
            found = [one for one in output["events"] if one["type"] == "question"]
        await called(client, "permissions_respond", question=found[0]["id"], choice="Deny")
        await asked
        return found[0]["preview"]

    assert "and there" in served.talk(talk)


def test_messages_send_needs_config_and_a_known_chat(serve: Serve) -> None:
    served = serve(model=["hello"], allow=["messages_send"])
    channel = served.harness.channel

    async def said() -> None:
        await channel.say("hi", chat="7")
        await channel.replies(1)

    served.harness.run(said())
    (session,) = served.call("sessions_list")["sessions"]
    answer = served.call("messages_send", session=session["id"], text="news")
    assert "Queued for fake:7" in answer
    served.harness.run(until(lambda: channel.sent[-1].text == "news"))
    assert "unknown session" in served.call("messages_send", session="other", text="news")
    assert "text must have" in served.call("messages_send", session=session["id"], text="")


@pytest.mark.slow
def test_undelivered_message_is_sent_by_next_process(serve: Serve) -> None:
    served = serve(model=["hello"], allow=["messages_send"])
    channel = served.harness.channel

    async def said() -> None:
        await channel.say("hi", chat="7")
        await channel.replies(1)

    served.harness.run(said())
    (session,) = served.call("sessions_list")["sessions"]
    channel.fail = 1_000
    served.call("messages_send", session=session["id"], text="news")
    served.harness.close()

    later = serve(allow=["messages_send"]).harness
    arrived = later.channel

    async def recovered() -> None:
        await later.plugin(McpServer).host.services[GatewayHost].recover()
        await arrived.replies(1)

    later.run(recovered())
    assert [one.text for one in arrived.sent] == ["news"]
