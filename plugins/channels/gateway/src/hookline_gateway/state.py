"""``gateway.state``: a gateway's state file, for ``hookline health`` and people."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .systemd import WATCHDOG, Notifier

log = logging.getLogger("hookline.plugin.gateway")
NAME = "gateway.state"
HEARTBEAT_INTERVAL = 15.0
"""Seconds between two heartbeats."""
STARTING, WAITING, UP, ENDED, READY, STOPPING, STOPPED = (
    *("starting", "waiting", "up", "ended", "ready", "stopping", "stopped"),
)


class State:
    """The state file: ``pid version state since heartbeat channels``, times in Unix seconds.

    ``state`` is ``starting``, ``ready``, ``stopping`` or ``stopped``. ``channels`` has ``{state,
    since}`` by name, where ``state`` is ``starting``, ``waiting`` (another gateway owns it), ``up``
    or ``ended``, with a ``reason``.
    """

    def __init__(self, home: Path, notifier: Notifier) -> None:
        self._path = home / NAME
        self._notifier = notifier
        self._error_logged = False
        self._channels: dict[str, dict[str, Any]] = {}
        self._state, self._since = STARTING, time.time()

    def set_channel(self, name: str, state: str, **more: str) -> None:
        """Set the state of a channel."""
        self._channels[name] = {"state": state, "since": time.time(), **more}
        self.write()

    def set_state(self, state: str) -> None:
        """Set the state of the gateway."""
        self._state, self._since = state, time.time()
        self.write()

    def write(self) -> None:
        """Replace the file, readable by its owner only. A failure is logged once."""
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
        partial = self._path.with_name(f"{NAME}.new")
        try:
            partial.unlink(missing_ok=True)
            handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text + "\n")
            partial.replace(self._path)
            self._error_logged = False
        except OSError as error:
            if not self._error_logged:
                log.error("cannot write %s: %s", self._path, error)
            self._error_logged = True

    async def write_heartbeats(self) -> None:
        """Periodically report to the file and the service manager that the event loop runs."""
        interval = HEARTBEAT_INTERVAL
        if self._notifier.watchdog:
            interval = min(interval, self._notifier.watchdog / 2)
        while True:
            self.write()
            self._notifier.send(WATCHDOG)
            await asyncio.sleep(interval)
