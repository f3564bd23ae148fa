"""Runs the priced session in each situation and counts what the server counted."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from hookline import clock
from prompt_home import SESSION, BenchSettings, make_home, make_work, open_runtime, run_turn
from prompt_servers import AnthropicSide, Asked, Counted, OpenAISide, Server
from prompt_workload import TURNS

HERE = Path(__file__).resolve().parent
GAP = 400.0
"""Seconds between the messages of a person who takes their time."""
PADDED = 8000
"""Characters that are tried to find how many make a stable tier of the wanted size."""


@dataclass(frozen=True)
class Situation:
    """How the session is held; ``wire`` is the provider. ``earlier`` holds it twice and counts the
    second, with ``restart`` in a process of its own."""

    gap: float = 0.0
    processes: bool = False
    skills: bool = False
    wire: str = "anthropic"
    earlier: bool = False
    restart: bool = False


@dataclass(frozen=True)
class Session:
    """What a session came to: its requests by turn, and the tokens of its stable tier.

    ``asked`` are all requests of each turn and of what followed it in the background. Everything
    else here counts only those of the conversation.
    """

    asked: tuple[tuple[Asked, ...], ...]
    stable: int

    @property
    def turns(self) -> list[list[Counted]]:
        """The conversation's requests by turn."""
        return [[one.counted for one in turn if one.purpose == "main"] for turn in self.asked]

    @property
    def requests(self) -> list[Counted]:
        """The conversation's requests in order."""
        return [one for turn in self.turns for one in turn]

    @property
    def input(self) -> int:
        """Tokens of input."""
        return sum(one.input for one in self.requests)

    @property
    def read(self) -> int:
        """Tokens that were read from the cache."""
        return sum(one.read for one in self.requests)

    @property
    def limit(self) -> int:
        """Tokens that the best of all placements could have read."""
        return sum(one.limit for one in self.requests)

    @property
    def placed(self) -> int:
        """The same, had everything been kept no longer than it was."""
        return sum(one.placed for one in self.requests)

    @property
    def floor(self) -> float:
        """What no placement can go below: what can be read is read, the rest is paid for once, and
        what is ever read had to be written, for five minutes."""
        written = max(one.limit for one in self.requests)
        return self.input - 0.9 * self.limit + 0.25 * written

    @property
    def cost(self) -> float:
        """Cost of the input in fresh tokens."""
        return sum(one.cost for one in self.requests)

    @property
    def later_turn(self) -> float:
        """The dearest turn after the second, as a share of its uncached cost."""
        return max(
            sum(one.cost for one in turn) / sum(one.input for one in turn)
            for turn in self.turns[2:]
        )

    @property
    def later_turns(self) -> float:
        """All turns after the second together, likewise."""
        later = [one for turn in self.turns[2:] for one in turn]
        return sum(one.cost for one in later) / sum(one.input for one in later)


SIDES: dict[str, type[AnthropicSide] | type[OpenAISide]] = {
    "anthropic": AnthropicSide,
    "openai": OpenAISide,
}


def measure(situation: Situation, stable: int | None) -> Session:
    """Hold the session; ``stable`` is the size of the stable tier in tokens, None as installed."""
    padding = 0
    if stable is not None:
        tried = _hold(Situation(), PADDED, turns=1).stable
        padding = max(0, PADDED + (stable - tried) * 4)
    return _hold(situation, padding, len(TURNS))


def _hold(situation: Situation, padding: int, turns: int) -> Session:
    settings = BenchSettings(skills=situation.skills, padding=padding)
    with (
        tempfile.TemporaryDirectory(prefix="hookline-bench-") as folder,
        SIDES[situation.wire]() as server,
    ):
        home = Path(folder) / "home"
        make_home(home, server.base_url, settings, situation.wire)
        counts = [0]
        hold = _in_processes if situation.processes else _in_one
        for _ in hold(home, situation, server, turns):
            counts.append(len(server.asked))
        by_turn = tuple(tuple(server.asked[begin:end]) for begin, end in pairwise(counts))
        return Session(by_turn, server.stable)


def _in_one(home: Path, situation: Situation, server: Server, turns: int) -> Iterator[None]:
    sessions = ("earlier", SESSION)[not situation.earlier :]
    with asyncio.Runner() as runner, _clock():
        for together in [[one] for one in sessions] if situation.restart else [sessions]:
            context = open_runtime(home)
            runtime = runner.run(context.__aenter__())
            try:
                for session in together:
                    server.begin()
                    make_work(home)
                    for number in range(turns):
                        runner.run(run_turn(runtime, number, session))
                        if session == SESSION:
                            yield
                        server.offset += situation.gap
                        clock._offset = server.offset
            finally:
                runner.run(context.__aexit__(None, None, None))


def _in_processes(home: Path, situation: Situation, server: Server, turns: int) -> Iterator[None]:
    for number in range(turns):
        environment = os.environ | {"HOOKLINE_CLOCK_OFFSET": str(server.offset)}
        command = [sys.executable, str(HERE / "prompt_turn.py"), str(home), str(number)]
        subprocess.run(command, env=environment, check=True)
        yield
        server.offset += situation.gap


@contextmanager
def _clock() -> Iterator[None]:
    before = clock._offset
    clock._offset = 0.0
    try:
        yield
    finally:
        clock._offset = before
