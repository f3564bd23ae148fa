"""Kills and broken connections: each message gets one reply, in order."""

from __future__ import annotations

import html
import json
import logging
import random
import re
import signal
import subprocess
import time
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest
from hookline_channelkit.testing import LONG_PLAN, plan_from_env
from support.openai_server import OpenAIServer, Reply

from .conftest import Gateways, end
from .contents import words_of
from .feishu import PATIENCE, Feishu

POINTS = (
    *("after-receive", "after-commit", "after-send", "after-keep", "mid-catch-up"),
    *("before-part", "after-part", "before-stream", "after-stream", "before-edit", "after-edit"),
)
NUMBER = re.compile(r"\[m(\d+)\]")
EVERYBODY = {"admins": ["feishu:ou_boss"], "allow": ["feishu:*"]}


def answer(body: Mapping[str, Any]) -> Reply:
    """What the model says: the number that it was asked with; every fifth answer comes slowly."""
    users = [one for one in body["messages"] if one["role"] == "user"]
    number = int(NUMBER.findall(str(users[-1]["content"]))[-1])
    words = " and more" * (60 if number % 5 == 0 else 1)
    return Reply(f"answer [m{number}]{words}", pace=0.03 if number % 5 == 0 else 0.0)


class CrashPlan:
    """People in ``chats`` chats, and a gateway that is killed repeatedly."""

    def __init__(self, gateways: Gateways, feishu: Feishu, chats: int, seed: int) -> None:
        self.gateways, self.feishu = gateways, feishu
        self.seed = random.Random(seed)
        self.chats = [feishu.room(f"ou_p{n}") for n in range(chats)]
        self.said: dict[str, list[int]] = {chat: [] for chat in self.chats}
        self.count = 0

    def say(self, many: int) -> None:
        """Send messages; events come twice, or not at all while the bot is offline."""
        for _ in range(many):
            chat = self.seed.choice(self.chats)
            self.said[chat].append(self.count)
            is_heard = any(line.is_open for line in self.feishu.pushes.lines)
            self.feishu.is_away = not is_heard and self.seed.random() < 0.5
            made = self.feishu.say(chat, f"[m{self.count}] hello")
            if not self.feishu.is_away and self.seed.random() < 0.2:
                self.feishu.tell(made)
            self.feishu.is_away = False
            self.count += 1
            time.sleep(self.seed.uniform(0, 0.01))

    def begin(self) -> None:
        """Everybody writes once: Feishu lists no private chats that the bot has not seen."""
        process = self.gateways.start()
        for chat in self.chats:
            self.said[chat].append(self.count)
            self.feishu.say(chat, f"[m{self.count}] hello")
            self.count += 1
        self.feishu.wait(lambda: not self.left())
        assert end(process) == 0

    def round(self, point: str | None, messages: int) -> None:
        """Run one gateway until it dies at the point, or is killed."""
        env = {} if point is None else {"HOOKLINE_CRASH_AT": f"{point}:{self.seed.randint(1, 9)}"}
        self.say(messages // 3)
        process = self.gateways.spawn("gateway", **env)
        self._wait_ready(process)
        self.say(messages - messages // 3)
        if self.seed.random() < 0.3:
            self.feishu.pushes.drop()
        until = time.monotonic() + self.seed.uniform(0.5, 4)
        while process.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        process.kill()
        process.wait()

    def _wait_ready(self, process: subprocess.Popen[bytes]) -> None:
        log = self.gateways.folder / f"{self.gateways.running.index(process):03}.log"
        until = time.monotonic() + PATIENCE
        while process.poll() is None and "ready\n" not in log.read_text():
            assert time.monotonic() < until
            time.sleep(0.02)

    def check(self) -> None:
        """Let one more gateway finish; then every chat has its answers, once and in order."""
        process = self.gateways.start()
        until = time.monotonic() + PATIENCE + self.count / 8
        while self.left() and time.monotonic() < until:
            time.sleep(0.2)
        assert end(process) == 0
        wrong = {chat: problem for chat in self.chats if (problem := self.wrong(chat))}
        if wrong:
            self.keep(list(wrong))
        assert wrong == {}, str(wrong)[:4000]
        marked = [
            text for chat in self.chats for text in self.feishu.texts(chat) if "repeat" in text
        ]
        assert marked == []
        assert not any(card.is_streaming for card in self.feishu.cards.values() if card.bound)

    def keep(self, chats: list[str]) -> None:
        """What happened in these chats, to be looked at: ``storm.json`` beside the logs."""
        with self.feishu.lock:
            shown = [
                (one.chat, one.created, one.id, one.is_deleted, one.card, one.history[:1],
                 words_of(one, self.feishu.cards)[:30])
                for one in self.feishu.messages.values() if one.is_app and one.chat in chats
            ]  # fmt: skip
            calls = [
                (call.at, call.method, call.path, call.code, (call.body or {}).get("uuid"),
                 str((call.body or {}).get("content"))[:60])
                for call in self.feishu.calls
                if isinstance(call.body, dict) and (call.body.get("receive_id") in chats)
            ]  # fmt: skip
        path = self.gateways.folder / "storm.json"
        path.write_text(json.dumps({"shown": shown, "calls": calls}, indent=0))

    def wrong(self, chat: str) -> str:
        """What is wrong in a chat."""
        said, got = self.said[chat], self.answered(chat)
        twice = [n for n in said if got.count(n) > 1]
        missing = [n for n in said if n not in got]
        late = [(a, b) for a, b in pairwise(got) if a > b]
        return "" if said == got else f"missing {missing}, twice {twice}, out of order {late}"

    def answered(self, chat: str) -> list[int]:
        return [
            int(n) for text in self.feishu.texts(chat) for n in NUMBER.findall(html.unescape(text))
        ]

    def left(self) -> int:
        return sum(len(self.said[chat]) - len(self.answered(chat)) for chat in self.chats) > 0


def play(gateways: Gateways, feishu: Feishu, messages: int, kills: int, chats: int) -> None:
    """The storm. ``points`` go round, and every fourth kill is at no point."""
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # the model's clients are killed
    feishu.pushes.again = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
    with OpenAIServer(answer) as model:
        provider = {"base_url": model.base_url, "api_key": "test"}
        gateways.configure(access=EVERYBODY)
        gateways.use_model("openai/fake", providers={"openai": provider})
        storm = CrashPlan(gateways, feishu, chats, seed=17)
        storm.begin()
        for number in range(kills):
            point = None if number % 4 == 3 else POINTS[number % len(POINTS)]
            storm.round(point, messages // kills)
        storm.check()
        assert storm.count >= messages


@pytest.mark.slow
def test_killed_gateway_sends_each_reply_once_and_in_order(
    gateways: Gateways, feishu: Feishu
) -> None:
    steps = [{"when": f"m{n}$", "text": f"answer m{n}", "repeat": True} for n in range(6)]
    gateways.configure({"steps": steps}, access=EVERYBODY)
    chat = feishu.room("ou_p0")
    gateway = gateways.start(HOOKLINE_CRASH_AT="after-part:2")
    for number in range(3):
        feishu.say(chat, f"m{number}")
    assert gateway.wait(timeout=PATIENCE) == -signal.SIGKILL
    feishu.is_away = True
    for number in range(3, 6):
        feishu.say(chat, f"m{number}")
    feishu.is_away = False
    gateway = gateways.start()
    feishu.wait(lambda: len(feishu.texts(chat)) >= 6)
    assert end(gateway) == 0
    assert feishu.texts(chat) == [f"answer m{number}" for number in range(6)]


@pytest.mark.slow
def test_small_storm_loses_nothing(gateways: Gateways, feishu: Feishu) -> None:
    play(gateways, feishu, messages=44, kills=11, chats=4)


@pytest.mark.slow
def test_storm_loses_nothing(gateways: Gateways, feishu: Feishu) -> None:
    """``HOOKLINE_STORM=long``: 2,040 messages and 60 kills."""
    if plan_from_env() is LONG_PLAN:
        play(gateways, feishu, messages=2040, kills=60, chats=40)
    else:
        play(gateways, feishu, messages=220, kills=22, chats=10)
