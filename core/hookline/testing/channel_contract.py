"""``ChannelContract``: what every network channel must do, as a class to subclass."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol

import pytest
from hookline_hookspecs import Plugin

from hookline.turn.resume import MAX_RESUMES

from .gateway_process import LINES, GatewayProcess, wait_for

CORE_POINTS = (
    *("after-receive", "after-commit", "before-model", "mid-stream", "after-model"),
    *("before-reply", "after-send"),
)
"""Crash points that every message passes."""
KIT_POINTS = (
    *("after-keep", "before-part", "after-part", "before-edit", "after-edit"),
    *("before-stream", "after-stream", "mid-catch-up"),
)
"""Crash points of ``hookline_channelkit``; a channel without it never comes to them."""
GROWING = frozenset({"before-edit", "after-edit", "before-stream", "after-stream"})
"""Points that only an answer passes which takes its time."""
GROWS = 6.0
"""Seconds that a process has to come to those."""
DIES = 1.0
"""Seconds that a process has to come to its crash point, before it is killed anyway."""


class ChannelPlatform(Protocol):
    """A fake of the platform, in the test's process: it stays while gateways come and go.

    Chats are numbered from 0, and in each one person writes. A fake that keeps what the real
    platform keeps, and refuses what it refuses, is what makes the contract worth something.
    """

    @property
    def config(self) -> Mapping[str, Any]:
        """The plugin's settings that lead to it."""

    def say(self, chat: int, text: str) -> None:
        """Somebody writes, whether a gateway runs or not."""

    def repeat(self, chat: int) -> None:
        """Deliver the chat's last message once more, as the platform does after a late answer."""

    def drop(self, times: int) -> None:
        """Carry out the next ``times`` requests that send a message, and cut the connection
        without an answer."""

    def texts(self, chat: int) -> Sequence[str]:
        """What stands in the chat and was written by the bot, oldest first, as people read it."""

    def close(self) -> None:
        """End it."""


class ChannelContract:
    """The contract of every network channel. Subclass it in a test file with two lines::

        class TestPigeonContract(ChannelContract):
            plugin = Pigeon
            platform = FakePigeon

    The channel runs in the real core in processes of their own, which are killed at every named
    point, with a model that answers each message by its number.
    """

    plugin: ClassVar[type[Plugin[Any]]]
    """The class to test; its module has to be importable."""
    platform: ClassVar[Callable[[], ChannelPlatform]]
    """Makes the fake."""
    finds: ClassVar[bool] = True
    """True if the channel can learn what became of a request that was not answered, so that nothing
    ever stands twice. Otherwise the repeat has to begin with :attr:`mark`."""
    mark: ClassVar[str] = "(may be a repeat)"
    """What a possible repeat begins with."""
    points: ClassVar[Sequence[str]] = (*CORE_POINTS, *KIT_POINTS)
    """Where processes are killed."""

    @pytest.fixture
    def fake(self) -> Iterator[ChannelPlatform]:
        """The platform."""
        made = type(self).platform()
        yield made
        made.close()

    @pytest.fixture
    def lives(self, fake: ChannelPlatform, tmp_path: Path) -> Iterator[GatewayProcess]:
        """The processes."""
        made = GatewayProcess(type(self).plugin, tmp_path / "home", fake.config)
        yield made
        made.kill()

    def test_messages_are_answered_in_order(
        self, lives: GatewayProcess, fake: ChannelPlatform
    ) -> None:
        """Those of one chat in the order in which they were written, other chats beside them."""
        lives.start()
        said = self._say(fake, "a", 6)
        self._expect(fake, said)

    def test_a_message_that_comes_twice_is_answered_once(
        self, lives: GatewayProcess, fake: ChannelPlatform
    ) -> None:
        """The platform delivers again what it believes was lost, before and after a restart."""
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
        """Its pieces add up to the original."""
        lives.start()
        fake.say(0, "[c0] long")
        fake.say(0, "[c1] hello")
        self._wait(fake, {0: ["c1"]})
        found = re.findall(r"\[c0\.(\d+)\]", "\n".join(fake.texts(0)))
        if found != [str(number) for number in range(LINES)]:
            wrong = [n for n in range(LINES) if found.count(str(n)) != 1]
            _fail(f"of a long answer the lines {wrong[:10]} are missing, repeated or out of order.")

    def test_a_send_without_an_answer_stands_once(
        self, lives: GatewayProcess, fake: ChannelPlatform
    ) -> None:
        """The request arrived and the connection broke: look whether the message is there."""
        lives.start()
        fake.drop(1)
        said = self._say(fake, "d", 2)
        self._expect(fake, said)

    def test_what_is_written_while_nobody_runs_is_answered(
        self, lives: GatewayProcess, fake: ChannelPlatform
    ) -> None:
        """In order, after the next start."""
        lives.start()
        said = self._say(fake, "e", 2)
        self._expect(fake, said)
        lives.stop()
        more = self._say(fake, "f", 4)
        lives.start()
        self._expect(fake, {chat: [*said[chat], *more[chat]] for chat in said})

    def test_it_may_be_killed_anywhere(self, lives: GatewayProcess, fake: ChannelPlatform) -> None:
        """At every named point: nothing is lost, nothing stands twice."""
        wanted: dict[int, list[str]] = {0: [], 1: []}
        for life, point in enumerate(self.points):
            is_up = lives.start(point)
            is_growing = point in GROWING
            said = self._say(fake, f"g{life}x", 2, "slow" if is_growing else "hello")
            if is_up:
                lives.died(GROWS if is_growing else DIES)
            lives.kill()
            wanted = {chat: [*wanted[chat], *said[chat]] for chat in wanted}
            if life % MAX_RESUMES == MAX_RESUMES - 1 or point == self.points[-1]:
                lives.start()  # undisturbed: a turn that is killed more often ends with an error
                self._expect(fake, wanted)
                lives.kill()

    # How it is looked at

    def _say(
        self, fake: ChannelPlatform, name: str, count: int, word: str = "hello"
    ) -> dict[int, list[str]]:
        """Write ``count`` messages in two chats by turns; their names by chat."""
        said: dict[int, list[str]] = {0: [], 1: []}
        for number in range(count):
            fake.say(number % 2, f"[{name}{number}] {word}")
            said[number % 2].append(f"{name}{number}")
        return said

    def _wait(self, fake: ChannelPlatform, wanted: Mapping[int, Sequence[str]]) -> None:
        def is_there() -> bool:
            return all(
                f"[{name}] is answered" in "\n".join(fake.texts(chat))
                for chat, names in wanted.items()
                for name in names
            )

        wait_for(is_there, lambda: {chat: fake.texts(chat) for chat in wanted})

    def _expect(self, fake: ChannelPlatform, wanted: Mapping[int, Sequence[str]]) -> None:
        """Each answer stands once, in order; a second time with the mark, where it may."""
        self._wait(fake, wanted)
        for chat, names in wanted.items():
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
                    "sent before and after each request, and look an unsure one up before you "
                    "repeat it."
                )
            if order != list(names):
                _fail(f"chat {chat} was answered in the order {order} and not {list(names)}.")


def _fail(message: str) -> None:
    pytest.fail(message, pytrace=False)
