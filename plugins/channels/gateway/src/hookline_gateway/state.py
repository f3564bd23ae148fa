"""``gateway.state``: what a gateway says of itself, for ``hookline health`` and people."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .notify import WATCHDOG, Notifier

log = logging.getLogger("hookline.plugin.gateway")
NAME = "gateway.state"
BEAT = 15.0
"""Seconds between two heartbeats."""
STARTING, WAITING, UP, ENDED, READY, STOPPING, STOPPED = (
    *("starting", "waiting", "up", "ended", "ready", "stopping", "stopped"),
)


class State:
    """The file: ``pid version state since heartbeat channels``, times in Unix seconds.

    ``state`` is ``starting ready stopping stopped``; ``channels`` gives for each name
    ``{state, since}``, ``state`` being ``starting waiting up ended``, and a ``reason`` of one that
    ended. One that waits is another gateway's.
    """

    def __init__(self, home: Path, notifier: Notifier) -> None:
        self._path = home / NAME
        self._notifier = notifier
        self._is_told = False
        self._channels: dict[str, dict[str, Any]] = {}
        self._state, self._since = STARTING, time.time()

    def channel(self, name: str, state: str, **more: str) -> None:
        """A channel has come into another state."""
        self._channels[name] = {"state": state, "since": time.time(), **more}
        self.write()

    def become(self, state: str) -> None:
        """The gateway has come into another state."""
        self._state, self._since = state, time.time()
        self.write()

    def write(self) -> None:
        """Write the file anew, whole, for its owner alone; a full disk is told once."""
        text = json.dumps(
            {
                "pid": os.getpid(),
                "version": version("hookline"),
                "state": self._state,
                "since": self._since,
                "heartbeat": time.time(),
                "channels": self._channels,
            }
        )
        fresh = self._path.with_name(f"{NAME}.new")
        try:
            fresh.unlink(missing_ok=True)
            handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text + "\n")
            fresh.replace(self._path)
            self._is_told = False
        except OSError as error:
            if not self._is_told:
                log.error("%s cannot be written: %s", self._path, error)
            self._is_told = True

    async def beat(self) -> None:
        """Tell file and service manager again and again that the event loop runs."""
        watchdog = self._notifier.watchdog
        while True:
            self.write()
            self._notifier.send(WATCHDOG)
            await asyncio.sleep(min(BEAT, watchdog / 2) if watchdog else BEAT)
