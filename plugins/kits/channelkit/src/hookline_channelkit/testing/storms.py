"""Thousands of messages while the gateway is killed, again and again: each is answered once.

A fake gives :class:`Gateways`: how a gateway is started, how a person writes, and what is shown.
:func:`survive` does the rest. The model has to answer a message that holds ``[m7]`` with a text
that holds ``[m7]``; :attr:`Storm.script` is a scenario of the provider ``scripted`` that does.
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

from .ledger import PATIENCE

CORE_POINTS = (
    *("after-receive", "after-commit", "before-model", "mid-stream", "after-model"),
    *("before-reply", "after-send"),
)
"""Crash points of core that a turn without tools passes."""
KIT_POINTS = (
    *("before-part", "after-part", "before-edit", "after-edit", "before-stream", "after-stream"),
    *("after-keep", "after-fetch", "mid-catch-up"),
)
"""Crash points of the kit."""
POINTS = (*CORE_POINTS, *KIT_POINTS)
"""Where gateways die by name."""
MOMENT = "some moment"
AWAY = "while away"
_NUMBER = re.compile(r"\[(m\d+)\]")
_MARK = "(may be a repeat)"


class Gateways(Protocol):
    """What a fake platform's tests have."""

    def start(self, **env: str) -> subprocess.Popen[bytes]:
        """Start a gateway with these variables; return when it is ready or dead."""

    def say(self, chat: int, text: str) -> None:
        """Somebody who may write writes in chat number ``chat``, whether a gateway runs or not.
        May deliver it several times, as the platform does."""

    def texts(self, chat: int) -> Sequence[str]:
        """What stands in chat number ``chat``, oldest first."""


@dataclass(frozen=True, slots=True)
class Storm:
    """How much of it.

    Args:
        messages: in all.
        kills: gateways that die; a third of them by name, a third at some moment, and after a
            third nobody runs for a while, during which people write.
        chats: among which the messages are spread.
        seed: of all chance.
        longest: seconds until a gateway that does not come to its crash point is killed anyway.
        finds: True if the platform can look a message up, so that nothing may stand twice; else a
            repeat has to be marked as one.
    """

    messages: int = 120
    kills: int = 9
    chats: int = 6
    seed: int = 1
    longest: float = 6.0
    finds: bool = True

    @property
    def script(self) -> str:
        """YAML for the provider ``scripted``: each message is answered with its number."""
        steps = [
            {"when": rf"\[m{number}\]", "text": f"[m{number}] is answered", "repeat": True}
            for number in range(self.messages)
        ]
        return json.dumps({"steps": steps})


SHORT = Storm()
LONG = Storm(messages=2_000, kills=60, chats=40)


def chosen() -> Storm:
    """:data:`LONG` if the environment has ``HOOKLINE_STORM=long``, else :data:`SHORT`."""
    return LONG if os.environ.get("HOOKLINE_STORM") == "long" else SHORT


@dataclass(slots=True)
class Report:
    """What became of it.

    Attributes:
        killed: gateways that died, by place.
        missing: messages without an answer.
        twice: answers that stand twice without a mark, or at all where the platform can look.
        marked: answers that stand with a mark.
        disorder: pairs that stand in the wrong order in their chat.
        seconds: that it took.
    """

    killed: Counter[str] = field(default_factory=Counter)
    missing: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    marked: list[str] = field(default_factory=list)
    disorder: list[tuple[str, str]] = field(default_factory=list)
    seconds: float = 0.0

    def check(self) -> None:
        """Raise ``AssertionError`` unless every message was answered once, in order."""
        assert not self.missing, f"without an answer: {self.missing[:10]} ({len(self.missing)})"
        assert not self.twice, f"answered twice: {self.twice[:10]} ({len(self.twice)})"
        assert not self.disorder, f"out of order: {self.disorder[:10]}"


def survive(gateways: Gateways, storm: Storm = SHORT) -> Report:
    """Write everything while gateways die; what stands in the end. The last one still runs."""
    chance, report, begin = random.Random(storm.seed), Report(), time.monotonic()
    where = [chance.randrange(storm.chats) for _ in range(storm.messages)]
    places = _places(chance, storm.kills)
    said = 0
    for life, place in enumerate(places):
        upto = storm.messages * (life + 1) // (storm.kills + 1)
        part = [(where[number], f"[m{number}] hello") for number in range(said, upto)]
        report.killed[_live_and_die(gateways, storm, chance, place, part)] += 1
        said = upto
    gateways.start()
    for number in range(said, storm.messages):
        gateways.say(where[number], f"[m{number}] hello")
    _wait(gateways, storm, where)
    _judge(gateways, storm, where, report)
    report.seconds = round(time.monotonic() - begin, 1)
    return report


def _places(chance: random.Random, kills: int) -> list[str]:
    found: list[str] = []
    while len(found) < kills:
        around = [*POINTS, *[MOMENT] * len(POINTS), *[AWAY] * len(POINTS)]
        chance.shuffle(around)
        found += around
    return found[:kills]


def _live_and_die(
    gateways: Gateways,
    storm: Storm,
    chance: random.Random,
    place: str,
    part: Sequence[tuple[int, str]],
) -> str:
    """One gateway's life; where it ended."""
    if place == AWAY:
        for chat, text in part:
            gateways.say(chat, text)
        place, part = chance.choice(POINTS), []
        away = True
    else:
        away = False
    env = {} if place == MOMENT else {"HOOKLINE_CRASH_AT": f"{place}:{chance.randint(1, 3)}"}
    process = gateways.start(**env)
    for chat, text in part:
        gateways.say(chat, text)
    seconds = chance.uniform(0, 1.5) if place == MOMENT else storm.longest
    until = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    died = process.poll() is not None
    process.kill()
    process.wait()
    return AWAY if away else place if died else MOMENT


def _wait(gateways: Gateways, storm: Storm, where: Sequence[int]) -> None:
    """Until everything is answered, or nothing has changed for long."""
    last, since = -1, time.monotonic()
    while time.monotonic() - since < PATIENCE / 2:
        found: set[str] = set()
        for chat in sorted(set(where)):
            found.update(_NUMBER.findall("\n".join(gateways.texts(chat))))
        if len(found) >= storm.messages:
            time.sleep(1.0)  # a repeat may still be on its way
            return
        if len(found) != last:
            last, since = len(found), time.monotonic()
        time.sleep(0.1)


def _judge(gateways: Gateways, storm: Storm, where: Sequence[int], report: Report) -> None:
    for chat in range(storm.chats):
        wanted = [f"m{number}" for number, one in enumerate(where) if one == chat]
        order: list[str] = []
        for text in gateways.texts(chat):
            for name in _NUMBER.findall(text):
                is_marked = text.startswith(_MARK)
                if is_marked:
                    report.marked.append(name)
                if name not in order:
                    order.append(name)
                elif storm.finds or not is_marked:
                    report.twice.append(name)
        report.missing += [name for name in wanted if name not in order]
        there = [name for name in wanted if name in order]
        at = {name: place for place, name in enumerate(order)}
        report.disorder += [(a, b) for a, b in pairwise(there) if at[a] > at[b]]
