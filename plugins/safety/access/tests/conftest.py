"""People who write on the channel ``fake``, and the replies they get."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine
from importlib.metadata import PackageNotFoundError, distribution, entry_points
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_access import AccessControl
from hookline_hookspecs import Ask, Inbound, Plugin, Reply, ToolCall, hookimpl, tool

CODE = re.compile(r"\b[BCDFGHJKMNPQRSTVWXYZ2-9]{8}\b")
CLAIM = re.compile(r"\b(?:[BCDFGHJKMNPQRSTVWXYZ2-9]{4}-){2}[BCDFGHJKMNPQRSTVWXYZ2-9]{4}\b")
PATIENCE = 60
"""Seconds until a test gives up; none waits for it to pass."""
COMMAND = "rm -rf 'build'"


MakeChats = Callable[..., "Chats"]
Run = Callable[["Chats", Callable[["Chats"], Coroutine[Any, Any, Any]]], Any]
"""Runs a story: a coroutine function that is given the chats."""


class Launcher(Plugin):
    """A tool that needs approval, and one that returns the rank of the author."""

    once = False

    @tool
    def launch(self, target: str) -> str:
        """Launch something."""
        return f"launched {target}"

    @tool
    def rank(self, ctx: Any) -> str:
        """Who is operator."""
        return "operator" if ctx.operator else "guest"

    @hookimpl
    def pre_tool(self, ctx: Any, call: ToolCall) -> Ask | None:
        if call.name != "launch":
            return None
        return Ask("it deletes", call.arguments["target"], once=self.once)


class Chats:
    """People in chats. Every method is a coroutine of the harness's loop."""

    def __init__(self, h: Harness) -> None:
        self.h = h
        self._number = 0

    @property
    def host(self) -> Any:
        return self.h.plugin(AccessControl).host

    @property
    def heard(self) -> list[Reply]:
        """Every reply so far."""
        return self.h.channel.sent

    def in_chat(self, chat: str) -> list[str]:
        """The replies in a chat."""
        return [reply.text for reply in self.heard if reply.session.chat_id == chat]

    async def say(
        self,
        user: str,
        text: str,
        chat: str | None = None,
        *,
        id_: str | None = None,
        reply_to: str | None = None,
        **more: Any,
    ) -> str | None:
        """Write, by default in the person's own chat; returns the reply, None if there is none.
        ``more`` are other fields of the message."""
        done = await self.begin(user, text, chat, id_=id_, reply_to=reply_to, **more)
        async with asyncio.timeout(PATIENCE):
            return await done

    async def begin(
        self,
        user: str,
        text: str,
        chat: str | None = None,
        *,
        id_: str | None = None,
        reply_to: str | None = None,
        **more: Any,
    ) -> asyncio.Future[str | None]:
        """As :meth:`say`, but the answer is not waited for."""
        await self.h.aopen()
        self._number += 1
        message = id_ or f"m{self._number}"
        inbound = Inbound("fake", chat or user, user, message, text, reply_to=reply_to, **more)
        settled = asyncio.get_running_loop().create_future()

        def hear(event: Inbound, ctx: Any = None) -> None:
            if event.message_id == message and not settled.done():
                answers = [one.text for one in self.heard if one.in_reply_to == message]
                settled.set_result(answers[-1] if answers else None)

        self.host.signals.connect("settled", hear)
        if not await self.host.receive(inbound):
            settled.set_result(None)
        return settled

    async def until(self, chat: str, begins: str) -> Reply:
        """The newest message in a chat that begins like this, as soon as there is one."""
        while True:
            fitting = [
                reply
                for reply in self.heard
                if reply.session.chat_id == chat and reply.text.startswith(begins)
            ]
            if fitting:
                return fitting[-1]
            await self.h.channel.replies(len(self.heard) + 1)

    async def judge(self, user: str, text: str, id_: str = "m") -> Any:
        """The verdict on a message that is delivered again, as after a crash."""
        runtime = await self.h.aopen()
        inbound = Inbound("fake", user, user, id_, text)
        decision = await runtime.bus.guard("on_message", None, inbound)
        return decision.verdict or decision.event

    def delivered(self, reply: Reply) -> str:
        """The platform's id of a message."""
        return f"delivered-{self.heard.index(reply) + 1}"


@pytest.fixture
def chats(harness: Callable[..., Harness]) -> Callable[..., Chats]:
    """Makes chats: settings of ``access``, further plugins, what the model says."""

    def make(*plugins: type[Plugin], model: Any = (), config: Any = None, **access: Any) -> Chats:
        settings = {"access": access, **(config or {})}
        kinds = (AccessControl, *plugins, Launcher)
        return Chats(harness(*kinds, config=settings, model=list(model)))

    return make


@pytest.fixture
def run() -> Run:
    """Runs a story in the chats."""
    return lambda chats, story: chats.h.run(story(chats))


def code_in(text: str | None) -> str:
    """The pairing code in an answer."""
    found = CODE.search(text or "")
    assert found, text
    return found[0]


LAUNCH = [calls("launch", target=COMMAND), "done"]


def installed(name: str) -> type[Plugin[Any]]:
    """A plugin beside this one, as core finds it. Skips where its dist is not installed."""
    try:
        distribution(f"hookline-{name}")
    except PackageNotFoundError:
        pytest.skip(f"hookline-{name} is not installed")
    found: type[Plugin[Any]] = entry_points(group="hookline.plugins")[name].load()
    return found
