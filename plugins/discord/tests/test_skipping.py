"""A busy channel in which others talk is not read back from the bot's last message on."""

from __future__ import annotations

import pytest

from .conftest import BOSS, Gateways, end
from .discord_api import DiscordApi
from .discord_world import BOT_ID

DAY = "90000"


@pytest.mark.slow
def test_what_is_said_to_others_is_not_read_again(gateways: Gateways, api: DiscordApi) -> None:
    gateways.configure(access={"admins": [f"discord:{BOSS}"], "allow": ["discord:*"]})
    room = api.channel(api.guild())
    gateway = gateways.start()
    api.say(room, f"<@{BOT_ID}> first", 7)
    api.find("answered", room)
    for number in range(350):
        api.say(room, f"talk {number}", 8)
    api.say(BOSS, "/whoami")
    api.find("discord:", BOSS)
    assert end(gateway) == 0
    api.write(room, f"<@{BOT_ID}> meanwhile", 7)
    before = len(api.calls)
    gateway = gateways.start(HOOKLINE_CLOCK_OFFSET=DAY)  # later, what came late has come
    api.wait(lambda: len(api.texts(room)) == 2)
    assert end(gateway) == 0
    read = [c for c in api.calls[before:] if c.route == "GET messages" and str(room) in c.path]
    assert len(read) == 1
