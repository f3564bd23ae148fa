"""Plugins and conversations that the tests of this plugin share."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

from hookline.testing import Harness
from hookline_hookspecs import (
    Context,
    Effect,
    Inbound,
    Origin,
    Plugin,
    ToolCall,
    ToolOutput,
    hookimpl,
    tool,
)


class Hands(Plugin):
    """One tool that looks and one that writes, and one that nobody knows."""

    @tool(read_only=True)
    def look(self) -> ToolOutput:
        """Look."""
        return ToolOutput("a page", origins=(Origin("outside", "https://example.org"),))

    def effects(self, ctx: Context, call: ToolCall) -> list[Effect]:
        return [Effect(call.arguments.get("kind", "write"), "note.txt")]

    @tool(effects=effects)
    def write(self, path: str = "note.txt", content: str = "new\n", kind: str = "write") -> str:
        """Write."""
        return "written"

    @tool
    def unknown(self) -> str:
        """Do something."""
        return "done"


class Town(Plugin):
    """Says who is an admin."""

    async def may_approve(self, channel: str, user_id: str) -> bool:
        return user_id == "admin"

    async def may_write(self, channel: str, user_id: str) -> bool:
        return True

    def is_operator(self, inbound: Inbound) -> bool:
        return inbound.user_id == "admin" and bool(inbound.private)

    @hookimpl
    def setup(self, host: Any) -> None:
        from hookline_hookspecs import Access

        host.services.provide(Access, self)


def say(h: Harness, user: str, text: str, chat: str, number: list[int]) -> str:
    """What a person on the channel ``fake`` is answered."""

    async def story() -> str:
        runtime = await h.aopen()
        number[0] += 1
        told = Inbound("fake", chat, user, uuid4().hex, text, private=chat == user, received=1.0)
        await runtime.engine.hosts["permissions"].receive(told)
        async with asyncio.timeout(20):
            sent = await h.channel.replies(number[0])
        return str(sent[-1].text)

    return h.run(story())
