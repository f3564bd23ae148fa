"""Notifications between processes, with ``NOTIFY`` and one listening connection.

A topic can be any text. PostgreSQL's channels are names shared by all schemas of a database, so the
channel is a hash of schema and topic.
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

from .address import DatabaseAddress
from .connection import connect
from .dialect import ANY_TABLE

log = logging.getLogger("hookline.store")

MAX_PAYLOAD_BYTES = 7_000
"""PostgreSQL's limit is 8,000."""
RECONNECT_SECONDS = 0.5
"""The pause before a lost connection is reopened."""
CHANGES_TOPIC = "hookline:changes"
"""The topic on which a process announces written tables, see `change_payload`."""
SHARED_TABLES = (ANY_TABLE, "kv")
"""Tables that count for every prefix: unknown ones, and the one that all plugins share."""


@lru_cache(maxsize=512)
def channel(key: str, topic: str) -> str:
    """The name of PostgreSQL's channel for ``topic``.

    Every role of the server may send to a channel and listen on it, so its name needs the ``key``
    of the schema, which lies in a table.
    """
    name = f"{key}\0{topic}".encode("utf-8", "replace")
    return f"hookline_{hashlib.sha256(name).hexdigest()[:40]}"


def change_payload(node: str, tables: Iterable[str]) -> str:
    """The payload with which the process ``node`` announces written tables."""
    message = f"{node} {' '.join(sorted(tables))}"
    return message if len(message) <= MAX_PAYLOAD_BYTES else f"{node} {ANY_TABLE}"


class TopicListener:
    """The listening connection, opened at the first call of ``listen``."""

    def __init__(self, where: DatabaseAddress, node: str) -> None:
        """``node`` is this process's id."""
        self._where, self._node, self._key = where, node, ""
        self._topics = Topics()
        self._is_counting = False
        self._counts: Counter[str] = Counter()  # by table
        self._listened: dict[str, str] = {}  # topics by the channel that is listened to
        self._changed = threading.Condition()
        self._is_closing = False
        self._failure: StoreError | None = None
        self._thread: threading.Thread | None = None

    @asynccontextmanager
    async def listen(self, topic: str) -> AsyncIterator[AsyncIterator[str]]:
        """The payloads of ``topic``, from now on. Raises ``StoreError`` without a database."""
        try:
            with self._topics.listen(topic) as payloads:
                await asyncio.to_thread(self._wait_until_heard, topic)
                yield payloads
        finally:
            self._wake_up()

    def changes(self, prefix: str = "") -> int | None:
        """The number of announced writes of other processes to tables that begin with ``prefix``.

        None while the announcements are not received.
        """
        if CHANGES_TOPIC not in self._listened.values():
            return None
        counts = self._counts.copy().items()  # another thread adds to them
        return sum(n for name, n in counts if name.startswith(prefix) or name in SHARED_TABLES)

    def count_changes(self, key: str) -> None:
        """Start to count the writes of other processes; ``key`` is that of :func:`channel`."""
        self._key = key
        self._is_counting = True
        with self._changed:
            self._start()
        self._wake_up()

    def close(self) -> None:
        """End the thread and disconnect."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        if self._thread is not None:
            self._wake_up()
            self._thread.join()
            self._wake.close()
            self._woken.close()

    def _wake_up(self) -> None:
        """Make the thread update the channels it listens on."""
        with suppress(OSError):  # full, so the thread wakes up anyway; or closed
            self._wake.send(b"\0")

    def _wait_until_heard(self, topic: str) -> None:
        def is_settled() -> bool:
            # A listener that was cancelled is gone, and so is its topic.
            listened, topics = self._listened.values(), self._topics.names()
            return (
                topic in listened or topic not in topics or bool(self._failure) or self._is_closing
            )

        with self._changed:
            self._failure = None
            if not self._is_closing:
                self._start()
                self._wake_up()
            self._changed.wait_for(is_settled)
            if self._is_closing:
                raise StoreError(f"{self._where.shown} is closed in this process.")
            if topic not in self._listened.values() and self._failure is not None:
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
                self._listen_until_lost(is_first)
            except (psycopg.Error, StoreError) as error:
                failure = StoreError(f"cannot listen to {self._where.shown}: {error}")
                if not is_first:
                    log.warning("%s Retrying.", failure)
                with self._changed:
                    is_first = is_first and not self._listened
                    self._listened = {}
                    self._failure = failure
                    self._changed.notify_all()
                self._pause()

    def _pause(self) -> None:
        select.select([], [], [], RECONNECT_SECONDS)

    def _listen_until_lost(self, is_first: bool) -> None:
        """Connect and publish notifications until the connection is lost or closed."""
        with connect(self._where) as raw:
            raw.add_notify_handler(lambda found: self._publish(found.channel, found.payload))
            self._update_channels(raw)
            if not is_first:
                self._counts[ANY_TABLE] += 1
                for topic in self._topics.names():
                    self._topics.publish(topic, "")  # notifications may have been missed
            while not self._is_closing:
                ends: list[Any] = [raw.fileno(), self._woken]
                ready, _, _ = select.select(ends, [], [])
                if self._woken in ready:
                    self._woken.recv(4096)
                    self._update_channels(raw)
                raw.pgconn.consume_input()
                while found := raw.pgconn.notifies():
                    self._publish(found.relname.decode(), found.extra.decode("utf-8", "replace"))

    def _update_channels(self, raw: psycopg.Connection[Any]) -> None:
        """Listen on exactly the channels that have listeners."""
        topics = [*self._topics.names(), *([CHANGES_TOPIC] if self._is_counting else [])]
        topics_by_channel = {channel(self._key, topic): topic for topic in topics}
        for name in topics_by_channel.keys() - self._listened.keys():
            raw.execute(f"LISTEN {name}".encode())
        for name in self._listened.keys() - topics_by_channel.keys():
            raw.execute(f"UNLISTEN {name}".encode())
        with self._changed:
            self._listened = topics_by_channel
            self._changed.notify_all()

    def _publish(self, name: str, payload: str) -> None:
        topic = self._listened.get(name)
        if topic == CHANGES_TOPIC:
            node, _, tables = payload.partition(" ")
            if node != self._node:
                self._counts.update(tables.split() or [ANY_TABLE])
        elif topic is not None:
            self._topics.publish(topic, payload)
