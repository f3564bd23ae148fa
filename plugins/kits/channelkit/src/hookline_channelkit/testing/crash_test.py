"""Checks that each of many messages is answered once while gateways are killed repeatedly.

A fake platform provides a :class:`GatewayDriver`, which starts gateways, writes messages and
returns the visible texts. :func:`run_crash_test` does the rest. The model must answer a message
with ``[m7]`` with a text that contains ``[m7]``; :attr:`CrashPlan.script` is a scenario for the
provider ``scripted`` that does so.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Protocol

from .chat_log import TIMEOUT

CORE_CRASH_POINTS = (
    *("after-receive", "after-commit", "before-model", "mid-stream", "after-model"),
    *("before-reply", "after-send"),
)
"""Crash points of core that a turn without tools passes."""
CHANNEL_CRASH_POINTS = (
    *("before-part", "after-part", "before-edit", "after-edit", "before-stream", "after-stream"),
    *("after-keep", "after-fetch", "mid-catch-up"),
)
"""Crash points of the kit."""
CRASH_POINTS = (*CORE_CRASH_POINTS, *CHANNEL_CRASH_POINTS)
AT_RANDOM = "at a random moment"
WHILE_DOWN = "while down"
_NUMBER = re.compile(r"\[(m\d+)\]")
_REPEAT_MARK = "(may be a repeat)"


class GatewayDriver(Protocol):
    """Starts gateways, writes messages and reads chats; provided by the tests of a platform."""

    def start(self, **env: str) -> subprocess.Popen[bytes]:
        """Start a gateway with these variables; return when it is ready or dead."""

    def say(self, chat: int, text: str) -> None:
        """Write as a permitted person in chat number ``chat``, with or without a running gateway.
        May deliver the message several times, as the platform does."""

    def texts(self, chat: int) -> Sequence[str]:
        """Return the visible texts of chat number ``chat``, oldest first."""


@dataclass(frozen=True, slots=True)
class CrashPlan:
    """The size of a crash test.

    Args:
        messages: number of messages.
        kills: gateways that are killed: a third at crash points, a third at random moments, and a
            third followed by a time without a gateway, in which people write.
        chats: number of chats.
        seed: seed of the random numbers.
        max_life: seconds until a gateway that does not reach its crash point is killed anyway.
        finds: the platform can look a message up, so nothing may appear twice; else a repeat must
            be marked as one.
    """

    messages: int = 120
    kills: int = 9
    chats: int = 6
    seed: int = 1
    max_life: float = 6.0
    finds: bool = True

    @property
    def script(self) -> str:
        """YAML for the provider ``scripted``: it answers each message with its number."""
        steps = [
            {"when": rf"\[m{number}\]", "text": f"[m{number}] is answered", "repeat": True}
            for number in range(self.messages)
        ]
        return json.dumps({"steps": steps})


SHORT_PLAN = CrashPlan()
LONG_PLAN = CrashPlan(messages=2_000, kills=60, chats=40)


def plan_from_env() -> CrashPlan:
    """Return :data:`LONG_PLAN` if ``HOOKLINE_STORM=long`` is set, else :data:`SHORT_PLAN`."""
    return LONG_PLAN if os.environ.get("HOOKLINE_STORM") == "long" else SHORT_PLAN


@dataclass(slots=True)
class CrashReport:
    """The result of a crash test.

    Attributes:
        killed: gateways that were killed, by crash point.
        missing: messages without an answer.
        repeated: answers that appear twice without a mark, or with one although the platform can
            look them up.
        marked: answers that are marked as a possible repeat.
        disorder: pairs that appear in the wrong order in their chat.
        seconds: duration.
    """

    killed: Counter[str] = field(default_factory=Counter)
    missing: list[str] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)
    marked: list[str] = field(default_factory=list)
    disorder: list[tuple[str, str]] = field(default_factory=list)
    seconds: float = 0.0

    def check(self) -> None:
        """Raise ``AssertionError`` unless every message was answered once, in order."""
        assert not self.missing, f"unanswered: {self.missing[:10]} ({len(self.missing)})"
        assert not self.repeated, f"answered twice: {self.repeated[:10]} ({len(self.repeated)})"
        assert not self.disorder, f"out of order: {self.disorder[:10]}"


def run_crash_test(driver: GatewayDriver, plan: CrashPlan = SHORT_PLAN) -> CrashReport:
    """Send every message while gateways are killed. The last gateway is left running."""
    chance, report, begin = random.Random(plan.seed), CrashReport(), time.monotonic()
    chats = [chance.randrange(plan.chats) for _ in range(plan.messages)]
    written = 0
    for life, place in enumerate(_places(chance, plan.kills)):
        end = plan.messages * (life + 1) // (plan.kills + 1)
        part = [(chats[number], f"[m{number}] hello") for number in range(written, end)]
        report.killed[_run_until_killed(driver, plan, chance, place, part)] += 1
        written = end
    driver.start()
    for number in range(written, plan.messages):
        driver.say(chats[number], f"[m{number}] hello")
    _wait_for_answers(driver, plan, chats)
    _check_answers(driver, plan, chats, report)
    report.seconds = round(time.monotonic() - begin, 1)
    return report


def _places(chance: random.Random, kills: int) -> list[str]:
    """Return where each gateway is killed."""
    places: list[str] = []
    while len(places) < kills:
        round_ = [
            *CRASH_POINTS,
            *[AT_RANDOM] * len(CRASH_POINTS),
            *[WHILE_DOWN] * len(CRASH_POINTS),
        ]
        chance.shuffle(round_)
        places += round_
    return places[:kills]


def _run_until_killed(
    driver: GatewayDriver,
    plan: CrashPlan,
    chance: random.Random,
    place: str,
    part: Sequence[tuple[int, str]],
) -> str:
    """Run one gateway; return where it was killed."""
    is_down = place == WHILE_DOWN
    if is_down:
        for chat, text in part:
            driver.say(chat, text)
        place, part = chance.choice(CRASH_POINTS), []
    env = {} if place == AT_RANDOM else {"HOOKLINE_CRASH_AT": f"{place}:{chance.randint(1, 3)}"}
    process = driver.start(**env)
    for chat, text in part:
        driver.say(chat, text)
    seconds = chance.uniform(0, 1.5) if place == AT_RANDOM else plan.max_life
    ends = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < ends:
        time.sleep(0.01)
    crashed = process.poll() is not None
    process.kill()
    process.wait()
    if is_down:
        return WHILE_DOWN
    return place if crashed else AT_RANDOM


def _wait_for_answers(driver: GatewayDriver, plan: CrashPlan, chats: Sequence[int]) -> None:
    """Wait until every message is answered, or no answer comes for a long time."""
    last, since = -1, time.monotonic()
    while time.monotonic() - since < TIMEOUT / 2:
        answered: set[str] = set()
        for chat in sorted(set(chats)):
            answered.update(_NUMBER.findall("\n".join(driver.texts(chat))))
        if len(answered) >= plan.messages:
            time.sleep(1.0)  # a repeat may still be on its way
            return
        if len(answered) != last:
            last, since = len(answered), time.monotonic()
        time.sleep(0.1)


def _check_answers(
    driver: GatewayDriver, plan: CrashPlan, chats: Sequence[int], report: CrashReport
) -> None:
    for chat in range(plan.chats):
        expected = [f"m{number}" for number, one in enumerate(chats) if one == chat]
        order: list[str] = []
        for text in driver.texts(chat):
            for name in _NUMBER.findall(text):
                is_marked = text.startswith(_REPEAT_MARK)
                if is_marked:
                    report.marked.append(name)
                if name not in order:
                    order.append(name)
                elif plan.finds or not is_marked:
                    report.repeated.append(name)
        report.missing += [name for name in expected if name not in order]
        present = [name for name in expected if name in order]
        places = {name: place for place, name in enumerate(order)}
        report.disorder += [(a, b) for a, b in pairwise(present) if places[a] > places[b]]
