"""Gateways are killed while messages arrive: each message gets one reply."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hookline_channelkit.testing import SHORT_PLAN, CrashPlan, plan_from_env, run_crash_test

from .conftest import Gateways, end
from .fake_slack import BOT, Slack


class NumberedChats(Gateways):
    """Chats by number: direct messages, channels, and threads that the bot takes part in."""

    def prepare(self) -> None:
        self.roots: dict[int, str] = {}
        self.chance = random.Random(5)

    def start(self, **env: str) -> subprocess.Popen[bytes]:
        process = self.spawn("gateway", **env)
        self.wait_until_up(process)
        return process

    def say(self, chat: int, text: str) -> None:
        if chat % 3 == 0:
            self.api.say(f"D{chat:04}", text)
        elif chat in self.roots:
            mention = f"<@{BOT}> " if chat % 3 == 1 else ""
            self.api.say(f"C{chat:04}", mention + text, thread=self.roots[chat])
        else:
            self.roots[chat] = self.api.say(f"C{chat:04}", f"<@{BOT}> {text}")["ts"]
        if self.chance.random() < 0.1:
            self.api.pass_time(60)

    def texts(self, chat: int) -> Sequence[str]:
        texts: Sequence[str] = self.api.texts(f"{'D' if chat % 3 == 0 else 'C'}{chat:04}")
        return texts


@pytest.fixture
def numbered_chats(tmp_path: Path, slack: Slack) -> Iterator[NumberedChats]:
    slack.sockets.ack_seconds = 1.0
    slack.mentions_twice, slack.is_strange, slack.repeats = "after", True, 0.2
    made = NumberedChats(tmp_path, slack)
    made.prepare()
    yield made
    made.close()


def configure(numbered_chats: NumberedChats, storm: CrashPlan) -> None:
    """A home whose gateway has run once: before the first start there are no messages."""
    numbered_chats.configure(storm.script, access={"allow": ["slack:*"]}, slack={"stream": True})
    assert end(numbered_chats.start()) == 0


@pytest.mark.slow
def test_short_storm_loses_nothing(numbered_chats: NumberedChats) -> None:
    storm = CrashPlan(messages=24, kills=2, chats=6, max_life=3.0)
    configure(numbered_chats, storm)
    run_crash_test(numbered_chats, storm).check()


@pytest.mark.slow
def test_storm_loses_and_repeats_nothing(numbered_chats: NumberedChats) -> None:
    storm = plan_from_env()
    configure(numbered_chats, storm)
    report = run_crash_test(numbered_chats, storm)
    print(report)
    report.check()
    assert report.marked == []
    assert storm is not SHORT_PLAN or numbered_chats.api.sockets.refused == []
