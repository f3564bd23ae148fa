"""Turns that callers ask for: who approves, whose words they are, and whose sessions."""

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


class Ears(Plugin):
    """Notes whose words a turn has."""

    heard: tuple[str, ...] = ()

    @hookimpl
    def post_model(self, ctx: Context, response: Any) -> None:
        """Note the origins."""
        type(self).heard = tuple(one.kind for one in ctx.origins)


@pytest.fixture(autouse=True)
def _fresh() -> None:
    Bomb.went_off = 0


def test_nobody_approves_in_a_turn_of_a_caller(serve: Serve) -> None:
    served = serve(Bomb, model=[calls("explode"), "it was refused"])
    answer = served.call("ask_agent", prompt="explode")
    assert answer["text"] == "it was refused"
    assert answer["tool_calls"] == [{"name": "explode", "ok": False}]
    assert Bomb.went_off == 0


@pytest.mark.parametrize(("trust", "outside"), [(False, True), (True, False)])
def test_what_a_caller_asks_is_from_outside_unless_the_operator_says_otherwise(
    serve: Serve, trust: bool, outside: bool
) -> None:
    serve(Ears, model=["heard"], trust=trust).call("ask_agent", prompt="listen")
    assert ("outside" in Ears.heard) == outside
    assert "operator" not in Ears.heard


def test_a_caller_continues_only_its_own_sessions(serve: Serve) -> None:
    served = serve(model=["mine", "one", "two"])
    served.harness.send("private", session="own")
    first = served.call("ask_agent", prompt="begin")
    again = served.call("ask_agent", prompt="go on", session=first["session"])
    assert again["session"] == first["session"]
    assert len(served.call("messages_read", session=first["session"])["messages"]) == 4
    assert "belongs to" in served.call("ask_agent", prompt="go on", session="own")
    assert "unknown session" in served.call("ask_agent", prompt="go on", session="nothing")


@pytest.mark.parametrize(("choice", "times"), [("Once", 1), ("Deny", 0)])
def test_a_caller_answers_an_approval_only_where_config_allows_it(
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
        wrong = await called(client, "permissions_respond", question="x", choice="Once")
        greedy = await called(
            client, "permissions_respond", question=found[0]["id"], choice="Always"
        )
        assert wrong.startswith("Error: ")
        assert greedy.startswith("Error: ")
        await called(client, "permissions_respond", question=found[0]["id"], choice=choice)
        return await asked

    assert served.talk(talk)["text"] == "over"
    assert Bomb.went_off == times


def test_a_caller_that_may_approve_is_shown_the_whole_call(serve: Serve) -> None:
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


def test_a_message_is_sent_only_where_config_allows_it_and_to_known_chats(serve: Serve) -> None:
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


def test_a_message_that_cannot_be_sent_is_sent_by_the_next_process(serve: Serve) -> None:
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
