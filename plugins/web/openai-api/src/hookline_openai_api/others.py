"""Turns that run in another process than the one that serves their client.

A worker keeps a run as if it served it, and tells the process which does; that one ends and stores
it, when the reply is there.
"""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

from hookline_hookspecs import Host, StoreError
from hookline_webkit.relay import Relay

from .keys import CHANNEL
from .run import Run

AGAIN_SECONDS = 2.0
"""After which a process is asked again to stop a turn."""
TRIES = 10
LOOK_SECONDS = 5.0
"""Between two looks for runs whose end nobody has told."""
LATE_SECONDS = 0.5
"""That the last words may come after the reply."""


class Known(Protocol):
    """The runs of this process."""

    def open(self, run_id: str) -> Run | None:
        """Return a run that is under way."""

    def all_open(self) -> list[Run]:
        """Return the runs that are under way."""

    async def stop_here(self, run: Run) -> None:
        """Stop a run's turn in this process."""

    async def end_without_reply(self, run: Run) -> None:
        """End a run that has no reply."""


class Others:
    """What processes that run turns tell those that serve clients, and are asked by them.

    Args:
        host: the plugin's host.
        runs: the runs of this process.
    """

    def __init__(self, host: Host, runs: Known) -> None:
        self._host, self._runs = host, runs
        self._relay = Relay(host, CHANNEL)
        self._is_hearing = self._is_serving = False

    @property
    def are_served(self) -> bool:
        """Whether another process serves the clients."""
        return self._relay.is_elsewhere

    # Of the process that runs turns

    def show(self, kind: str, run: Run | str, *more: Any, now: bool = False) -> None:
        """Tell the process that serves the client, if that is another one."""
        if not self._relay.is_elsewhere:
            return
        if not self._is_hearing:
            self._is_hearing = True
            self._host.spawn(self._relay.hear("asked", self._asked, _nothing), "hear requests")
        self._relay.show(kind, run if isinstance(run, str) else run.id, *more, now=now)

    def _asked(self, _: str, word: list[Any]) -> None:
        kind, id_ = word
        run = self._runs.open(id_)
        if run is None or not run.started:
            return
        if kind == "stop":
            run.stopping = True
            self._host.spawn(self._runs.stop_here(run), "stop")
        elif kind == "again":
            self.show("log", run, run.turn, run.as_heard())

    # Of the process that serves clients

    def serve(self) -> None:
        """This process serves the clients from now on."""
        if self._relay.is_divided and not self._is_serving:
            self._is_serving = True
            self._host.spawn(self._relay.hear("shown", self._shown, _nothing), "hear of turns")
            self._host.spawn(self._look(), "look for ends")

    def stop(self, run: Run) -> None:
        """Have the turn stopped that another process runs."""
        if self._is_serving:
            self._host.spawn(self._stop(run), "stop")

    async def _stop(self, run: Run) -> None:
        for _ in range(TRIES):
            if run.end is not None:
                return
            self._relay.ask("stop", run.id)
            await asyncio.sleep(AGAIN_SECONDS)

    async def await_whole(self, run: Run) -> None:
        """The reply is there: wait a moment for the last words, which may come after it."""
        if self._is_serving and run.started and run.failure is None and run.is_open:
            async for new in run.follow(LATE_SECONDS, len(run.log)):
                if not new or not run.is_open:
                    return

    def _shown(self, process: str, word: list[Any]) -> None:
        kind, id_, *more = word
        run = self._runs.open(id_)
        if run is None or run.end is not None or self._relay.is_elsewhere:
            return
        if kind == "begin":
            self._begin(process, run, *more)
        elif kind == "log":
            if not run.started:
                run.hear(*more[1:])
                self._begin(process, run, more[0])
        elif kind == "failure":
            run.failure = (more[0], more[1])
        elif kind == "settled":
            self._host.spawn(self._end(run), "end")
        elif not run.started:
            self._relay.ask("again", id_)
        elif run.process == process:
            self._went_on(run, kind, *more)

    def _begin(self, process: str, run: Run, turn: str) -> None:
        if run.started:  # the process that ran it is dead
            run.restart()
        run.started, run.turn, run.process = True, turn, process
        if run.stopping:
            self.stop(run)

    def _went_on(self, run: Run, kind: str, *more: Any) -> None:
        if kind == "text":
            run.grow(more[0])
        elif kind == "restart":
            run.restart()
        elif kind == "add":
            run.add(*more)
        elif kind == "answered":
            run.usage, run.finish, calls = more
            run.close_part(bool(calls))
            for call in calls:
                run.add(*call)

    async def _look(self) -> None:
        """End the runs of messages that are done and have led to no reply."""
        seen: dict[str, int] = {}
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            quiet = [one for one in self._runs.all_open() if seen.get(one.id) == len(one.log)]
            seen = {one.id: len(one.log) for one in self._runs.all_open()}
            for run in quiet:
                try:
                    await self._end(run, tries=1)
                except StoreError as error:
                    self._host.log.warning("how a request ended cannot be read: %s", error)

    async def _end(self, run: Run, tries: int = TRIES) -> None:
        """End a run whose message is done, unless a reply is on its way."""
        for _ in range(tries):
            found = await self._host.storage.fetch("message_end", id=run.id, owner=run.owner)
            if run.end is not None:
                return None
            if found and found[0]["is_done"] and not found[0]["unsent"]:
                return await self._runs.end_without_reply(run)
            await asyncio.sleep(AGAIN_SECONDS / 4)
        return None


def _nothing() -> None:
    """What was missed is asked for when more comes."""
