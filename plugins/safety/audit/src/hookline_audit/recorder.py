"""Rows on their way to the store: handed over in order, and again if they could not be written."""

from __future__ import annotations

import asyncio
import getpass
import hashlib
import itertools
import json
import os
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hookline_hookspecs import Host, Transaction

from .keys import Keys, sealed_body

RETRY_SECONDS = 1.0
MOST = 100_000
"""Rows that are kept while the store cannot be written."""
PATIENCE = 10.0
"""Seconds for which a thread waits until its row is handed over."""
_encode = json.JSONEncoder(separators=(",", ":"), default=str).encode
_sorted = json.JSONEncoder(separators=(",", ":"), sort_keys=True, default=str).encode


@dataclass(slots=True)
class Row:
    """A row before it is written. ``chat`` is ``CHANNEL:CHAT``, empty for none."""

    kind: str
    object: str
    verdict: str
    channel: str = ""
    chat: str = ""
    session: str = ""
    turn: str = ""
    actor: str = ""
    approver: str = ""
    detail: Mapping[str, Any] | None = None
    n: int = 0
    at: int = 0

    def columns(self, node: str) -> dict[str, Any]:
        """Return the columns that are readable without a key."""
        return {
            "node": node,
            "n": self.n,
            "at": self.at,
            "channel": _clean(self.channel),
            "session": _clean(self.session),
            "turn": _clean(self.turn),
            "kind": self.kind,
            "verdict": _clean(self.verdict),
        }

    def personal(self) -> str:
        """Return the rest as JSON in ASCII."""
        told = {"actor": self.actor, "chat": self.chat, "object": self.object}
        return _encode({**told, "approver": self.approver, "detail": self.detail or {}})


def digest(value: object) -> dict[str, Any]:
    """Return the SHA-256 and the length in bytes of a text, or of a value as JSON."""
    data = (value if isinstance(value, str) else _sorted(value)).encode("utf-8", "surrogatepass")
    return {"sha256": hashlib.sha256(data).hexdigest(), "length": len(data)}


class Recorder:
    """Hands rows to the store. One for each process; ``node`` names it in the rows."""

    def __init__(self, host: Host, keys: Keys) -> None:
        self._host = host
        self._keys = keys
        name = "".join(c if c.isascii() and c.isprintable() else "?" for c in socket.gethostname())
        self.node = f"{name[:60]}-{os.getpid()}-{os.urandom(4).hex()}"
        self._numbers = itertools.count(1)
        self._last = 0
        self._waiting: list[Row] = []
        self._under_way: set[asyncio.Future[None]] = set()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._changes: int | None = None
        self._is_failing = False
        self.written = 0
        """Rows that were committed."""

    def add(self, row: Row) -> None:
        """Take a row; it is written with the next :meth:`hand_over`."""
        self._last = row.at = max(time.time_ns() // 1000, self._last)
        row.n = next(self._numbers)
        self._waiting.append(row)

    def add_from_anywhere(self, row: Row) -> None:
        """Take a row and hand it over, from any thread."""
        if threading.get_ident() == self._thread:
            self.add(row)
            self.hand_over()
            return
        done = threading.Event()

        def take() -> None:
            self.add(row)
            self.hand_over()
            done.set()

        self._loop.call_soon_threadsafe(take)
        done.wait(PATIENCE)

    def hand_over(self) -> None:
        """Give what waits to the store, and wait for nothing."""
        if not self._waiting:
            return
        rows, self._waiting = self._waiting, []
        made: dict[str, str] = {}
        changes = self._host.storage.changes
        fresh, self._changes = changes is None or changes != self._changes, changes

        def work(tx: Transaction) -> None:
            made.clear()  # it may run more than once
            if fresh:
                self._keys.forget()
            for row in rows:
                self._write(tx, row, made)

        submit: Any = self._host.storage.submit  # type: ignore[attr-defined]
        try:
            future = asyncio.ensure_future(submit(work))
        except Exception as error:
            self._failed(rows, error)
            return
        self._under_way.add(future)
        future.add_done_callback(lambda done: self._done(done, rows, made))

    def _done(self, future: asyncio.Future[None], rows: list[Row], made: dict[str, str]) -> None:
        self._under_way.discard(future)
        if future.cancelled():
            return
        if (error := future.exception()) is not None:
            self._failed(rows, error)
            return
        self._is_failing = False
        self.written += len(rows)
        self._keys.keep(made)

    def _failed(self, rows: list[Row], error: BaseException) -> None:
        if not self._is_failing:
            self._host.log.error("the audit cannot be written, and is tried again: %s", error)
        self._is_failing = True
        self._keys.forget()
        self._waiting = [*rows, *self._waiting][:MOST]
        self._loop.call_later(RETRY_SECONDS, self.hand_over)

    async def write_with(self, row: Row, work: Callable[[Transaction], None]) -> None:
        """Write a row and run ``work`` in one transaction. Raises ``StoreError``."""
        self.add(row)
        self._waiting.remove(row)
        made: dict[str, str] = {}

        def both(tx: Transaction) -> None:
            made.clear()
            self._keys.forget()
            work(tx)
            self._write(tx, row, made)

        await self._host.storage.transact(both)
        self.written += 1
        self._keys.forget()

    def _write(self, tx: Transaction, row: Row, made: dict[str, str]) -> None:
        columns = row.columns(self.node)
        columns["kid"], key = self._keys.of_chat(tx, row.chat, made)
        tx.execute("add_row", **columns, body=sealed_body(key, columns, row.personal()))

    async def flush(self) -> None:
        """Wait until all rows are committed, or could not be written once."""
        self.hand_over()
        pending: set[Awaitable[None]] = {*self._under_way}
        await asyncio.gather(*pending, return_exceptions=True)


def person_here() -> str:
    """Who uses the command line; of whoever came through ``sudo``, who that was."""
    try:
        came = os.environ.get("SUDO_UID", "")
        if came.isascii() and came.isdigit():
            import pwd

            return f"os:{pwd.getpwuid(int(came)).pw_name}"
        return f"os:{getpass.getuser()}"
    except (OSError, KeyError, ImportError):
        return "os:unknown"


def _clean(text: str) -> str:
    """A text that every database holds as it is: what is not, is written as JSON writes it."""
    if text.isascii() and "\0" not in text:
        return text
    return json.dumps(text)[1:-1]
