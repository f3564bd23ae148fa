"""Reports to systemd over the datagram socket that ``NOTIFY_SOCKET`` names.

The protocol is that of sd_notify(3): assignments such as ``READY=1``, one per line, in a datagram.
"""

from __future__ import annotations

import logging
import os
import socket

log = logging.getLogger("hookline.plugin.gateway")
READY, STOPPING, WATCHDOG = "READY=1", "STOPPING=1", "WATCHDOG=1"


class Notifier:
    """Sends to the service manager; does nothing if there is none.

    The variables are removed from the environment, so that no tool can report for the gateway.
    """

    def __init__(self) -> None:
        self._address = os.environ.pop("NOTIFY_SOCKET", "")
        usec, pid = os.environ.pop("WATCHDOG_USEC", ""), os.environ.pop("WATCHDOG_PID", "")
        mine = pid in ("", str(os.getpid()))
        self.watchdog = int(usec) / 1e6 if mine and usec.isdecimal() else 0.0
        """Seconds of silence after which the manager restarts the service; 0: never."""

    def send(self, *assignments: str) -> None:
        """Send assignments. A failure is logged."""
        if not self._address:
            return
        # A leading @ stands for the zero byte of an abstract socket address.
        where = "\0" + self._address[1:] if self._address[0] == "@" else self._address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
                sender.setblocking(False)
                sender.sendto("\n".join(assignments).encode(), where)
        except OSError as error:
            log.warning("cannot send %s to systemd: %s", assignments[0], error)
