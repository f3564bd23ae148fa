"""``Recorder``: submits rows to the store in order, and retries those that failed."""

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

from .keys import AuditKeys, encrypt_body

RETRY_SECONDS = 1.0
MAX_QUEUED_ROWS = 100_000
"""Rows that are held while the store cannot be written."""
SUBMIT_TIMEOUT = 10.0
"""Seconds that another thread waits until its row is submitted."""
_encode = json.JSONEncoder(separators=(",", ":"), default=str).encode
_sorted = json.JSONEncoder(separators=(",", ":"), sort_keys=True, default=str).encode


@dataclass(slots=True)
class AuditRow:
    """A row before it is written. ``chat`` is ``CHANNEL:CHAT`` or empty."""

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
        """Return the columns that are not encrypted."""
        return {
            "node": node,
            "n": self.n,
            "at": self.at,
            "channel": _ascii(self.channel),
            "session": _ascii(self.session),
            "turn": _ascii(self.turn),
            "kind": self.kind,
            "verdict": _ascii(self.verdict),
        }

    def personal(self) -> str:
        """Return the personal data, as JSON in ASCII."""
        data = {"actor": self.actor, "chat": self.chat, "object": self.object}
        return _encode({**data, "approver": self.approver, "detail": self.detail or {}})


def digest(value: object) -> dict[str, Any]:
    """Return the SHA-256 and the length in bytes of a text, or of a value as JSON."""
    data = (value if isinstance(value, str) else _sorted(value)).encode("utf-8", "surrogatepass")
    return {"sha256": hashlib.sha256(data).hexdigest(), "length": len(data)}


class Recorder:
    """Submits rows to the store. There is one per process; ``node`` names it in the rows."""

    def __init__(self, host: Host, keys: AuditKeys) -> None:
        self._host = host
        self._keys = keys
        name = "".join(c if c.isascii() and c.isprintable() else "?" for c in socket.gethostname())
        self.node = f"{name[:60]}-{os.getpid()}-{os.urandom(4).hex()}"
        self._numbers = itertools.count(1)
        self._last = 0
        self._queued: list[AuditRow] = []
        self._pending: set[asyncio.Future[None]] = set()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._changes: int | None = None
        self._is_failing = False
        self.written = 0
        """The number of committed rows."""

    def add(self, row: AuditRow) -> None:
        """Queue a row; the next :meth:`submit` writes it."""
        self._last = row.at = max(time.time_ns() // 1000, self._last)
        row.n = next(self._numbers)
        self._queued.append(row)

    def add_from_anywhere(self, row: AuditRow) -> None:
        """Queue a row and submit it, from any thread."""
        if threading.get_ident() == self._thread:
            self.add(row)
            self.submit()
            return
        done = threading.Event()

        def submit_row() -> None:
            self.add(row)
            self.submit()
            done.set()

        self._loop.call_soon_threadsafe(submit_row)
        done.wait(SUBMIT_TIMEOUT)

    def submit(self) -> None:
        """Submit the queued rows to the store, without waiting for it."""
        if not self._queued:
            return
        rows, self._queued = self._queued, []
        kids: dict[str, str] = {}
        changes = self._host.storage.changes
        has_changed = changes is None or changes != self._changes
        self._changes = changes

        def work(tx: Transaction) -> None:
            kids.clear()  # the store may run this more than once
            if has_changed:
                self._keys.forget()
            for row in rows:
                self._write(tx, row, kids)

        submit: Any = self._host.storage.submit  # type: ignore[attr-defined]
        try:
            future = asyncio.ensure_future(submit(work))
        except Exception as error:
            self._retry(rows, error)
            return
        self._pending.add(future)
        future.add_done_callback(lambda done: self._on_done(done, rows, kids))

    def _on_done(
        self, future: asyncio.Future[None], rows: list[AuditRow], kids: dict[str, str]
    ) -> None:
        self._pending.discard(future)
        if future.cancelled():
            return
        if (error := future.exception()) is not None:
            self._retry(rows, error)
            return
        self._is_failing = False
        self.written += len(rows)
        self._keys.cache(kids)

    def _retry(self, rows: list[AuditRow], error: BaseException) -> None:
        if not self._is_failing:
            self._host.log.error("cannot write audit rows; will retry: %s", error)
        self._is_failing = True
        self._keys.forget()
        self._queued = [*rows, *self._queued][:MAX_QUEUED_ROWS]
        self._loop.call_later(RETRY_SECONDS, self.submit)

    async def write_with(self, row: AuditRow, work: Callable[[Transaction], None]) -> None:
        """Write a row and run ``work`` in one transaction. Raises ``StoreError``."""
        self.add(row)
        self._queued.remove(row)
        kids: dict[str, str] = {}

        def work_and_row(tx: Transaction) -> None:
            kids.clear()
            self._keys.forget()
            work(tx)
            self._write(tx, row, kids)

        await self._host.storage.transact(work_and_row)
        self.written += 1
        self._keys.forget()

    def _write(self, tx: Transaction, row: AuditRow, kids: dict[str, str]) -> None:
        columns = row.columns(self.node)
        columns["kid"], key = self._keys.of_chat(tx, row.chat, kids)
        tx.execute("add_row", **columns, body=encrypt_body(key, columns, row.personal()))

    async def flush(self) -> None:
        """Wait until all rows are committed or have failed once."""
        self.submit()
        pending: set[Awaitable[None]] = {*self._pending}
        await asyncio.gather(*pending, return_exceptions=True)


def person_here() -> str:
    """The account that runs the process, as ``os:NAME``; under ``sudo``, the calling account."""
    try:
        uid = os.environ.get("SUDO_UID", "")
        if uid.isascii() and uid.isdigit():
            import pwd

            return f"os:{pwd.getpwuid(int(uid)).pw_name}"
        return f"os:{getpass.getuser()}"
    except (OSError, KeyError, ImportError):
        return "os:unknown"


def _ascii(text: str) -> str:
    """A text that every database can store: other characters are escaped as in JSON."""
    if text.isascii() and "\0" not in text:
        return text
    return json.dumps(text)[1:-1]
