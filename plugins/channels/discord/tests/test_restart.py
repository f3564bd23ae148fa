"""What a gateway knows after a restart: how far a channel was read, and who wrote what."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

from .conftest import BOSS, Gateways, end
from .discord_api import DiscordApi
from .discord_world import BOT_ID

DAY = "90000"


@pytest.mark.slow
def test_channel_messages_not_for_bot_are_not_read_again_after_restart(
    gateways: Gateways, api: DiscordApi
) -> None:
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


@pytest.mark.slow
def test_deletion_after_restart_names_the_message_author(
    gateways: Gateways, api: DiscordApi
) -> None:
    gateways.configure(access={"admins": [f"discord:{BOSS}"], "allow": ["discord:*"]})
    room = api.channel(api.guild())
    gateway = gateways.start()
    said = [api.say(room, f"<@{BOT_ID}> say {number}", 7) for number in range(3)]
    other = api.say(room, "said to others", 8)
    api.wait(lambda: len(api.texts(room)) == 3)
    assert end(gateway) == 0
    gateway = gateways.start()
    api.delete(said[0])
    api.delete_together(*said[1:], other)
    api.say(room, f"<@{BOT_ID}> and on", 7)
    api.wait(lambda: len(api.texts(room)) == 4)
    assert end(gateway) == 0
    with closing(sqlite3.connect(gateways.home / "hookline.db")) as db, db:
        rows = [json.loads(body) for (body,) in db.execute("SELECT body FROM inbox")]
    gone = [(one["target"], one["user_id"]) for one in rows if one.get("kind") == "delete"]
    assert gone == [(str(one.id), "7") for one in said]
