"""Relays turns that run in another process than the one that serves their client.

A worker records a run like the serving process and relays every change to it; the serving process
ends and stores the run when the reply arrives.
"""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

from hookline_hookspecs import Host, StoreError
from hookline_webkit.relay import Relay

from .api_run import ApiRun
from .keys import CHANNEL

RETRY_INTERVAL = 2.0
"""Seconds after which a process is asked again to stop a turn."""
MAX_ATTEMPTS = 10
END_CHECK_INTERVAL = 5.0
"""Seconds between two checks for runs whose end was not relayed."""
LATE_TEXT_SECONDS = 0.5
"""Seconds to wait for the last text after the reply."""


class RunRegistry(Protocol):
    """The runs of this process."""

    def open(self, run_id: str) -> ApiRun | None:
        """Return a running run."""

    def all_open(self) -> list[ApiRun]:
        """Return all running runs."""

    async def stop_here(self, run: ApiRun) -> None:
        """Stop a run's turn in this process."""

    async def end_without_reply(self, run: ApiRun) -> None:
        """End a run without a reply."""


class RemoteRuns:
    """Relays between processes that run turns and the process that serves clients.

    Args:
        host: the plugin's host.
        runs: the runs of this process.
    """

    def __init__(self, host: Host, runs: RunRegistry) -> None:
        self._host = host
        self._runs = runs
        self._relay = Relay(host, CHANNEL)
        self._is_listening = self._is_serving = False

    @property
    def serves_elsewhere(self) -> bool:
        """True if another process serves the clients."""
        return self._relay.is_elsewhere

    # In the process that runs turns

    def show(self, kind: str, run: ApiRun | str, *more: Any, now: bool = False) -> None:
        """Relay a change to the serving process, if that is another one."""
        if not self._relay.is_elsewhere:
            return
        if not self._is_listening:
            self._is_listening = True
            self._host.spawn(
                self._relay.receive("asked", self._on_request, _ignore_gap), "receive requests"
            )
        self._relay.show(kind, run if isinstance(run, str) else run.id, *more, now=now)

    def _on_request(self, _: str, message: list[Any]) -> None:
        kind, id_ = message
        run = self._runs.open(id_)
        if run is None or not run.started:
            return
        if kind == "stop":
            run.stopping = True
            self._host.spawn(self._runs.stop_here(run), "stop")
        elif kind == "again":
            self.show("log", run, run.turn, run.snapshot())

    # In the process that serves clients

    def serve(self) -> None:
        """Start to serve clients in this process."""
        if self._relay.is_divided and not self._is_serving:
            self._is_serving = True
            self._host.spawn(
                self._relay.receive("shown", self._on_update, _ignore_gap), "receive updates"
            )
            self._host.spawn(self._watch_for_ends(), "find ended runs")

    def stop(self, run: ApiRun) -> None:
        """Ask the process that runs the turn to stop it."""
        if self._is_serving:
            self._host.spawn(self._stop(run), "stop")

    async def _stop(self, run: ApiRun) -> None:
        for _ in range(MAX_ATTEMPTS):
            if run.end is not None:
                return
            self._relay.ask("stop", run.id)
            await asyncio.sleep(RETRY_INTERVAL)

    async def wait_for_last_text(self, run: ApiRun) -> None:
        """Wait a moment for the last text, which may arrive after the reply."""
        if self._is_serving and run.started and run.failure is None and run.is_open:
            async for new in run.follow(LATE_TEXT_SECONDS, len(run.log)):
                if not new or not run.is_open:
                    return

    def _on_update(self, process: str, message: list[Any]) -> None:
        kind, id_, *more = message
        run = self._runs.open(id_)
        if run is None or run.end is not None or self._relay.is_elsewhere:
            return
        if kind == "begin":
            self._begin(process, run, *more)
        elif kind == "log":
            if not run.started:
                run.restore(*more[1:])
                self._begin(process, run, more[0])
        elif kind == "failure":
            run.failure = (more[0], more[1])
        elif kind == "settled":
            self._host.spawn(self._end(run), "end")
        elif not run.started:
            self._relay.ask("again", id_)
        elif run.process == process:
            self._apply(run, kind, *more)

    def _begin(self, process: str, run: ApiRun, turn: str) -> None:
        if run.started:  # the process that ran it has died
            run.restart()
        run.started = True
        run.turn = turn
        run.process = process
        if run.stopping:
            self.stop(run)

    def _apply(self, run: ApiRun, kind: str, *more: Any) -> None:
        if kind == "text":
            run.append_text(more[0])
        elif kind == "restart":
            run.restart()
        elif kind == "add":
            run.add(*more)
        elif kind == "answered":
            run.usage, run.finish, calls = more
            run.end_response(bool(calls))
            for call in calls:
                run.add(*call)

    async def _watch_for_ends(self) -> None:
        """End runs whose message is done without a reply, forever."""
        seen: dict[str, int] = {}
        while True:
            await asyncio.sleep(END_CHECK_INTERVAL)
            quiet = [one for one in self._runs.all_open() if seen.get(one.id) == len(one.log)]
            seen = {one.id: len(one.log) for one in self._runs.all_open()}
            for run in quiet:
                try:
                    await self._end(run, tries=1)
                except StoreError as error:
                    self._host.log.warning("cannot read the state of a request: %s", error)

    async def _end(self, run: ApiRun, tries: int = MAX_ATTEMPTS) -> None:
        """End a run whose message is done, unless a reply is still to be sent."""
        for _ in range(tries):
            found = await self._host.storage.fetch("message_end", id=run.id, owner=run.owner)
            if run.end is not None:
                return None
            if found and found[0]["is_done"] and not found[0]["unsent"]:
                return await self._runs.end_without_reply(run)
            await asyncio.sleep(RETRY_INTERVAL / 4)
        return None


def _ignore_gap() -> None:
    """Do nothing: missed updates are requested when the next one arrives."""
