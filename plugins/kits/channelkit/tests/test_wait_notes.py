"""A person sees in the chat that the model's server is down, until it answers."""

from __future__ import annotations

from typing import Any

from hookline_hookspecs import Context, Delta, ModelRequest, Plugin, Wait, hookimpl

from .conftest import Platform
from .test_boards import wait_until_done


class Outage(Plugin):
    """Reports waits before each request, as a provider does."""

    waits: tuple[float, ...] = ()

    @hookimpl
    async def pre_model(self, ctx: Context, request: ModelRequest) -> None:
        """Report them."""
        for seconds in self.waits:
            wait = Wait("local is overloaded", seconds)
            self.host.signals.send("delta", Delta("", "waiting", wait))


class Long(Outage):
    waits = (0.5, 8.0, 16.0)


class Short(Outage):
    waits = (0.5, 1.0)


async def test_long_wait_is_one_edited_message(start_channel: Any, platform: Platform) -> None:
    one = await start_channel(platform, {"go": "Here I am."}, Long)
    await one.say("go")
    await wait_until_done(one)
    note, reply = platform.chat("c")
    assert reply.text == "Here I am."
    assert note.text == "local is overloaded; answered after 0 s."
    shown = "local is overloaded; trying again in 16 s. /stop ends the wait."
    assert note.texts[0] in (shown, note.text)


async def test_short_wait_is_not_shown(start_channel: Any, platform: Platform) -> None:
    one = await start_channel(platform, {"go": "Here I am."}, Short)
    await one.say("go")
    await wait_until_done(one)
    assert platform.texts("c") == ["Here I am."]
