"""Gateways are killed repeatedly: each message gets one reply, in order; a repeat is marked."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from hookline_channelkit.testing import plan_from_env, run_crash_test

from .bot_api import BotApi
from .conftest import BOSS, Gateways

EVERYBODY = {"admins": [f"telegram:{BOSS}"], "allow": ["telegram:*"]}


@dataclass
class Telegrams:
    """Gateways on Telegram, as a storm needs them."""

    gateways: Gateways
    api: BotApi

    def start(self, **env: str) -> subprocess.Popen[bytes]:
        """A gateway that is ready or dead."""
        process = self.gateways.spawn("gateway", **env)
        self.gateways.wait_until_up(process)
        return process

    def say(self, chat: int, text: str) -> None:
        self.api.say(1000 + chat, text)

    def texts(self, chat: int) -> Sequence[str]:
        return self.api.texts(1000 + chat)


@pytest.mark.slow
def test_storm_of_kills_loses_and_repeats_nothing(gateways: Gateways, api: BotApi) -> None:
    """``HOOKLINE_STORM=long``: 2,000 messages and 60 kills."""
    much = replace(plan_from_env(), finds=False)
    gateways.configure(much.script, access=EVERYBODY)
    report = run_crash_test(Telegrams(gateways, api), much)
    print(report)
    report.check()
