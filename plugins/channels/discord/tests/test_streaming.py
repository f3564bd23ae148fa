"""A streamed reply: edits within Discord's limits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import Harness, ScriptedModel
from hookline_discord import Discord
from hookline_hookspecs import Delta, DeltaSink, ModelResponse, WireRequest

from .conftest import ANN
from .discord_api import PATIENCE, DiscordApi


class Slow(ScriptedModel):
    """Streams its reply word by word."""

    async def send(self, wire: WireRequest, on_delta: DeltaSink | None) -> ModelResponse:
        response = await super().send(wire, None)
        for word in "".join(getattr(one, "text", "") for one in response.blocks).split(" "):
            if on_delta is not None:
                on_delta(Delta(word + " "))
            await asyncio.sleep(0.03)
        return response


@pytest.mark.long
@pytest.mark.parametrize("is_old", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_streamed_reply_edits_one_message(
    harness: Callable[..., Harness], api: DiscordApi, is_old: bool
) -> None:
    words = " ".join(f"word{n} *strong{n}*" for n in range(80))
    settings = {"token": api.token, "api_url": api.api_url, "edit_every": 0.5}
    h = harness(Discord, config=settings, model=Slow([words]))
    channel: Any = h.runtime.channels.get("discord")
    api.flood = (5, 5.0)
    if is_old:  # no more than two edits of a message, as of one that is an hour old
        api.rest.old_seconds = -1.0

    async def talk() -> None:
        await channel.start()
        api.say(ANN, "hello")
        await asyncio.to_thread(api.find, "strong79", ANN)
        await h.runtime.finish_background(PATIENCE)
        await channel.stop()

    h.run(talk())
    (shown,) = api.messages(ANN)
    assert shown.text == words
    every = list(api.place(ANN).messages.values())
    assert all(words.startswith(old.removesuffix("\n…")[:20]) for o in every for old in o.history)
    assert any(one.history for one in every)
    assert api.violations == 0
