"""``ChannelContract``: the tests that every network channel must pass, as a class to subclass."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol

import pytest
from hookline_hookspecs import Plugin

from hookline.turn.resume import MAX_RESUMES

from .gateway_process import LONG_ANSWER_LINES, GatewayProcess, wait_for

CORE_POINTS = (
    *("after-receive", "after-commit", "before-model", "mid-stream", "after-model"),
    *("before-reply", "after-send"),
)
"""Crash points that every message passes."""
KIT_POINTS = (
    *("after-keep", "before-part", "after-part", "before-edit", "after-edit"),
    *("before-stream", "after-stream", "mid-catch-up"),
)
"""Crash points of ``hookline_channelkit``; channels without it do not pass them."""
STREAM_POINTS = frozenset({"before-edit", "after-edit", "before-stream", "after-stream"})
"""Crash points that only a slow answer passes."""
STREAM_POINT_TIMEOUT = 6.0
"""Seconds in which a process must reach one of these."""
POINT_TIMEOUT = 1.0
"""Seconds in which a process must reach another crash point, before it is killed anyway."""


class ChannelPlatform(Protocol):
    """A fake of the platform in the test's process, which outlives the gateways.

    Chats are numbered from 0, and in each one person writes. The fake must store what the real
    platform stores and refuse what it refuses; otherwise the contract proves little.
    """

    @property
    def config(self) -> Mapping[str, Any]:
        """The plugin settings that connect it to this fake."""

    def say(self, chat: int, text: str) -> None:
        """Write a message as the chat's person; a gateway may be running or not."""

    def repeat(self, chat: int) -> None:
        """Deliver the chat's last message again, as the platform does after a late answer."""

    def drop(self, times: int) -> None:
        """Close the connection without an answer after the next ``times`` sends succeeded."""

    def texts(self, chat: int) -> Sequence[str]:
        """The bot's messages in the chat, oldest first, as people read them."""

    def close(self) -> None:
        """Stop the fake."""


class ChannelContract:
    """The contract of every network channel. Subclass it in a test file with two lines::

        class TestPigeonContract(ChannelContract):
            plugin = Pigeon
            platform = FakePigeon

    The channel runs in the real core in separate processes, which are killed at every crash point,
    with a model that answers each message by its number.
    """

    plugin: ClassVar[type[Plugin[Any]]]
    """The class to test; its module must be importable."""
    platform: ClassVar[Callable[[], ChannelPlatform]]
    """Creates the fake."""
    finds: ClassVar[bool] = True
    """True if the channel can find out whether an unanswered request arrived, so that no message
    ever appears twice. Otherwise repeats must begin with :attr:`mark`."""
    mark: ClassVar[str] = "(may be a repeat)"
    """The beginning of a message that may be a repeat."""
    points: ClassVar[Sequence[str]] = (*CORE_POINTS, *KIT_POINTS)
    """The crash points at which processes are killed."""

    @pytest.fixture
    def fake(self) -> Iterator[ChannelPlatform]:
        """The platform."""
        platform = type(self).platform()
        yield platform
        platform.close()

    @pytest.fixture
    def lives(self, fake: ChannelPlatform, tmp_path: Path) -> Iterator[GatewayProcess]:
        """The gateway processes, one after another."""
        process = GatewayProcess(type(self).plugin, tmp_path / "home", fake.config)
        yield process
        process.kill()

    def test_messages_are_answered_in_order(
        self, lives: GatewayProcess, fake: ChannelPlatform
    ) -> None:
        """A chat's messages are answered in the order in which they were written."""
        lives.start()
        said = self._say(fake, "a", 6)
        self._expect(fake, said)

    def test_a_message_that_comes_twice_is_answered_once(
        self, lives: GatewayProcess, fake: ChannelPlatform
    ) -> None:
        """The platform delivers a message again, before and after a restart."""
        lives.start()
        fake.say(0, "[b0] hello")
        fake.repeat(0)
        self._expect(fake, {0: ["b0"]})
        fake.repeat(0)
        lives.stop()
        lives.start()
        fake.repeat(0)
        fake.say(0, "[b1] hello")
        self._expect(fake, {0: ["b0", "b1"]})

    def test_a_long_answer_is_whole(self, lives: GatewayProcess, fake: ChannelPlatform) -> None:
        """The pieces of a long answer are complete and in order."""
        lives.start()
        fake.say(0, "[c0] long")
        fake.say(0, "[c1] hello")
        self._wait(fake, {0: ["c1"]})
        found = re.findall(r"\[c0\.(\d+)\]", "\n".join(fake.texts(0)))
        if found != [str(number) for number in range(LONG_ANSWER_LINES)]:
            wrong = [n for n in range(LONG_ANSWER_LINES) if found.count(str(n)) != 1]
            _fail(f"of a long answer the lines {wrong[:10]} are missing, repeated or out of order.")

    def test_a_send_without_an_answer_stands_once(
        self, lives: GatewayProcess, fake: ChannelPlatform
    ) -> None:
        """A message that arrived before the connection broke is not sent again."""
        lives.start()
        fake.drop(1)
        said = self._say(fake, "d", 2)
        self._expect(fake, said)

    def test_what_is_written_while_nobody_runs_is_answered(
        self, lives: GatewayProcess, fake: ChannelPlatform
    ) -> None:
        """Messages written while no gateway runs are answered in order after the next start."""
        lives.start()
        said = self._say(fake, "e", 2)
        self._expect(fake, said)
        lives.stop()
        more = self._say(fake, "f", 4)
        lives.start()
        self._expect(fake, {chat: [*said[chat], *more[chat]] for chat in said})

    def test_it_may_be_killed_anywhere(self, lives: GatewayProcess, fake: ChannelPlatform) -> None:
        """At every crash point: no message is lost, and none appears twice."""
        expected: dict[int, list[str]] = {0: [], 1: []}
        for run, point in enumerate(self.points):
            is_up = lives.start(point)
            is_streaming = point in STREAM_POINTS
            said = self._say(fake, f"g{run}x", 2, "slow" if is_streaming else "hello")
            if is_up:
                lives.died(STREAM_POINT_TIMEOUT if is_streaming else POINT_TIMEOUT)
            lives.kill()
            expected = {chat: [*expected[chat], *said[chat]] for chat in expected}
            if run % MAX_RESUMES == MAX_RESUMES - 1 or point == self.points[-1]:
                lives.start()  # not killed: a turn that is resumed more often ends with an error
                self._expect(fake, expected)
                lives.kill()

    # Writing and checking

    def _say(
        self, fake: ChannelPlatform, name: str, count: int, word: str = "hello"
    ) -> dict[int, list[str]]:
        """Write ``count`` messages, alternating between two chats; return their names by chat."""
        said: dict[int, list[str]] = {0: [], 1: []}
        for number in range(count):
            fake.say(number % 2, f"[{name}{number}] {word}")
            said[number % 2].append(f"{name}{number}")
        return said

    def _wait(self, fake: ChannelPlatform, expected: Mapping[int, Sequence[str]]) -> None:
        """Wait until all messages are answered."""

        def all_answered() -> bool:
            return all(
                f"[{name}] is answered" in "\n".join(fake.texts(chat))
                for chat, names in expected.items()
                for name in names
            )

        wait_for(all_answered, lambda: {chat: fake.texts(chat) for chat in expected})

    def _expect(self, fake: ChannelPlatform, expected: Mapping[int, Sequence[str]]) -> None:
        """Check that each answer appears once and in order; marked repeats may be allowed."""
        self._wait(fake, expected)
        for chat, names in expected.items():
            order: list[str] = []
            plain: Counter[str] = Counter()
            for text in fake.texts(chat):
                is_marked = not self.finds and text.startswith(self.mark)
                for name in re.findall(r"\[(\w+)\] is answered", text):
                    order += [name] if name not in order else []
                    plain[name] += not is_marked
            twice = [name for name, times in plain.items() if times > 1]
            if twice:
                _fail(
                    f"{', '.join(twice)} of chat {chat} was answered twice. Record what is "
                    "sent before and after each request, and check whether an unanswered one "
                    "arrived before you repeat it."
                )
            if order != list(names):
                _fail(f"chat {chat} was answered in the order {order} instead of {list(names)}.")


def _fail(message: str) -> None:
    pytest.fail(message, pytrace=False)
