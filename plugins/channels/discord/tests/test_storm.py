"""The gateway is killed repeatedly: each message gets one reply, in order."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence

import pytest
from hookline_channelkit.testing import CrashPlan, plan_from_env, run_crash_test

from .conftest import BOSS, Gateways, end
from .discord_api import DiscordApi
from .discord_world import BOT_ID, Guild


class Storms:
    """What the kit's storm drives (its ``Gateways``): half the chats private, half channels."""

    def __init__(self, gateways: Gateways) -> None:
        self.gateways, self.api = gateways, gateways.api
        self._guild: Guild = self.api.guild()
        self._rooms: dict[int, int] = {}

    def greet(self, chats: int) -> None:
        """Everybody writes once: Discord lists no private chats that the bot has not seen."""
        gateway = self.gateways.start()
        for user in range(10_001, 10_000 + chats, 2):
            self.api.say(user, "/whoami", user)
            self.api.find(f"discord:{user}", user)
        assert end(gateway) == 0

    def start(self, **env: str) -> subprocess.Popen[bytes]:
        process = self.gateways.spawn("gateway", **env)
        log = self.gateways.folder / f"{len(self.gateways.running) - 1:03}.log"
        while process.poll() is None and "ready\n" not in log.read_text():
            time.sleep(0.02)
        return process

    def say(self, chat: int, text: str) -> None:
        is_private = chat % 2
        mention = "" if is_private else f"<@{BOT_ID}> "
        user = 10_000 + chat
        self.api.say(user if is_private else self._room(chat), mention + text, user, times=2)

    def texts(self, chat: int) -> Sequence[str]:
        return self.api.texts(10_000 + chat if chat % 2 else self._room(chat))

    def _room(self, chat: int) -> int:
        if chat not in self._rooms:
            self._rooms[chat] = self.api.channel(self._guild, f"room-{chat}")
        return self._rooms[chat]


@pytest.mark.slow
@pytest.mark.parametrize(
    "storm",
    [
        pytest.param(CrashPlan(messages=12, kills=2, chats=2), id="short"),
        pytest.param(plan_from_env(), marks=pytest.mark.slow, id="chosen"),
    ],
)
def test_storm_of_kills_loses_and_repeats_nothing(
    gateways: Gateways, api: DiscordApi, storm: CrashPlan
) -> None:
    access = {"admins": [f"discord:{BOSS}"], "allow": ["discord:*"]}
    gateways.configure(storm.script, access=access, discord={"edit_every": 0.5})
    storms = Storms(gateways)
    storms.greet(storm.chats)
    report = run_crash_test(storms, storm)
    print(report)
    report.check()
    assert report.marked == []
    assert api.violations == 0
    assert api.gateway.identifies_left > 800
