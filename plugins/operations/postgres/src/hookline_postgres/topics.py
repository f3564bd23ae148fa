"""What processes tell each other through the database: ``NOTIFY``, and one connection that listens.

A topic may be any text, and a channel of PostgreSQL is a name that all schemas of a database
share, so the channel is a hash of both.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import select
import socket
import threading
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from functools import lru_cache
from typing import Any

import psycopg
from hookline_hookspecs.errors import StoreError
from hookline_hookspecs.stores import Topics

from .address import Address
from .connection import connect
from .dialect import ANY

log = logging.getLogger("hookline.store")

LIMIT = 7_000
"""Bytes of a payload; PostgreSQL takes 8,000."""
AGAIN_SECONDS = 0.5
"""After which a lost connection is made anew."""
CHANGES = "hookline:changes"
"""The topic under which a process tells what it has written, see `change`."""
OF_ALL = (ANY, "kv")
"""What concerns whoever asks for changes: unknown tables, and the one that all plugins share."""


@lru_cache(maxsize=512)
def channel(schema: str, topic: str) -> str:
    """The name of ``topic`` among the channels of a database."""
    name = f"{schema}\0{topic}".encode("utf-8", "replace")
    return f"hookline_{hashlib.sha256(name).hexdigest()[:40]}"


def change(node: str, tables: Iterable[str]) -> str:
    """What the process ``node`` tells of the tables that it has written."""
    told = f"{node} {' '.join(sorted(tables))}"
    return told if len(told) <= LIMIT else f"{node} {ANY}"


class Listener:
    """The listening connection, made when somebody first listens."""

    def __init__(self, where: Address, node: str) -> None:
        """``node`` is this process's id."""
        self._where, self._node = where, node
        self._topics = Topics()
        self._is_counting = False
        self._counts: Counter[str] = Counter()  # by table
        self._heard: dict[str, str] = {}  # topics by the channel that is listened to
        self._changed = threading.Condition()
        self._is_closing = False
        self._failure: StoreError | None = None
        self._thread: threading.Thread | None = None

    @asynccontextmanager
    async def listen(self, topic: str) -> AsyncIterator[AsyncIterator[str]]:
        """The payloads of ``topic``, from now on. Raises ``StoreError`` without a database."""
        try:
            with self._topics.listen(topic) as payloads:
                await asyncio.to_thread(self._await_heard, topic)
                yield payloads
        finally:
            self._look()

    def changes(self, prefix: str = "") -> int | None:
        """How often other processes have told that they wrote tables whose names begin with
        ``prefix``; None while that is not heard."""
        if CHANGES not in self._heard.values():
            return None
        counts = self._counts.copy().items()  # another thread adds to them
        return sum(n for name, n in counts if name.startswith(prefix) or name in OF_ALL)

    def count_changes(self) -> None:
        """Listen for what others write, as soon as there is a connection."""
        self._is_counting = True
        with self._changed:
            self._start()
        self._look()

    def close(self) -> None:
        """End the thread and disconnect."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        if self._thread is not None:
            self._look()
            self._thread.join()
            self._wake.close()
            self._woken.close()

    def _look(self) -> None:
        """Have the thread look at what is wanted."""
        with suppress(OSError):  # it is full, so it will look anyway; or closed
            self._wake.send(b"\0")

    def _await_heard(self, topic: str) -> None:
        def is_settled() -> bool:
            # Who was cancelled meanwhile does not listen any more, and nobody will hear the topic.
            heard, wanted = self._heard.values(), self._topics.names()
            return topic in heard or topic not in wanted or bool(self._failure) or self._is_closing

        with self._changed:
            self._failure = None
            if not self._is_closing:
                self._start()
                self._look()
            self._changed.wait_for(is_settled)
            if self._is_closing:
                raise StoreError(f"{self._where.shown} is closed in this process.")
            if topic not in self._heard.values() and self._failure is not None:
                raise self._failure

    def _start(self) -> None:
        if self._thread is None:
            self._wake, self._woken = socket.socketpair()
            self._wake.setblocking(False)
            self._thread = threading.Thread(target=self._run, name="hookline-listener", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        is_first = True
        while not self._is_closing:
            try:
                self._hear(is_first)
            except (psycopg.Error, StoreError) as error:
                told = StoreError(f"{self._where.shown} cannot be listened to: {error}")
                if not is_first:
                    log.warning("%s It is tried again.", told)
                with self._changed:
                    is_first = is_first and not self._heard
                    self._heard, self._failure = {}, told
                    self._changed.notify_all()
                self._pause()

    def _pause(self) -> None:
        select.select([], [], [], AGAIN_SECONDS)

    def _hear(self, is_first: bool) -> None:
        """Connect, and hand out what comes until the connection is lost or nobody wants it."""
        with connect(self._where) as raw:
            raw.add_notify_handler(lambda found: self._publish(found.channel, found.payload))
            self._agree(raw)
            if not is_first:
                self._counts[ANY] += 1
                for topic in self._topics.names():
                    self._topics.publish(topic, "")  # some may have been missed
            while not self._is_closing:
                ends: list[Any] = [raw.fileno(), self._woken]
                ready, _, _ = select.select(ends, [], [])
                if self._woken in ready:
                    self._woken.recv(4096)
                    self._agree(raw)
                raw.pgconn.consume_input()
                while found := raw.pgconn.notifies():
                    self._publish(found.relname.decode(), found.extra.decode("utf-8", "replace"))

    def _agree(self, raw: psycopg.Connection[Any]) -> None:
        """Listen to what is wanted, and to nothing else."""
        topics = [*self._topics.names(), *([CHANGES] if self._is_counting else [])]
        wanted = {channel(self._where.schema, topic): topic for topic in topics}
        for name in wanted.keys() - self._heard.keys():
            raw.execute(f"LISTEN {name}".encode())
        for name in self._heard.keys() - wanted.keys():
            raw.execute(f"UNLISTEN {name}".encode())
        with self._changed:
            self._heard = wanted
            self._changed.notify_all()

    def _publish(self, name: str, payload: str) -> None:
        topic = self._heard.get(name)
        if topic == CHANGES:
            node, _, tables = payload.partition(" ")
            if node != self._node:
                self._counts.update(tables.split() or [ANY])
        elif topic is not None:
            self._topics.publish(topic, payload)
