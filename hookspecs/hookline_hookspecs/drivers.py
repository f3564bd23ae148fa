"""Drivers: exactly one of many is chosen by config. Model providers and stores.

A driver is named by an entry point of the group ``hookline.providers`` or ``hookline.stores``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar

from .events import CachePrice, Delta, ModelRequest, ModelResponse, WireRequest

T = TypeVar("T")
DeltaSink: TypeAlias = Callable[[Delta], None]


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """What a provider is made from; ``options`` are the driver's own keys.

    ``key_env`` is the variable that holds the key, for sentences about it; empty if unknown.
    """

    name: str
    base_url: str | None
    api_key: str
    headers: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    key_env: str = ""


class Provider(Protocol):
    """A model API. Made as ``Driver(settings: ProviderSettings)``; the class is imported when a
    model of it is chosen, its SDK when the first request is sent.
    """

    name: str
    cache_price: CachePrice
    """What its input costs where it was read from the cache or written to it."""

    def render(self, request: ModelRequest) -> WireRequest:
        """The request in this provider's encoding.

        Equal messages give equal bytes, so that what was sent once is sent again unchanged.
        """

    async def send(self, wire: WireRequest, on_delta: DeltaSink | None) -> ModelResponse:
        """Send, and stream pieces to ``on_delta`` if there is one. Raises ``ProviderError``."""

    async def aclose(self) -> None:
        """Close connections."""


Params: TypeAlias = Mapping[str, Any]


class Connection(Protocol):
    """A database connection inside a transaction; used on the store's own thread.

    SQL uses ``:name`` parameters; rows are mappings.
    """

    def fetch(self, sql: str, params: Params = ...) -> list[Mapping[str, Any]]:
        """The rows of a query."""

    def execute(self, sql: str, params: Params = ...) -> int:
        """Run one statement; the number of rows it touched."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One forward step of a component's tables: ``number`` from 1, ``sql`` of any statements."""

    number: int
    name: str
    sql: str


class Store(Protocol):
    """A database. Made as ``Driver(url: str, home: Path)``; nothing here is of one dialect.

    Work is given as a synchronous function of a :class:`Connection`, which runs on the store's
    thread in one transaction and is rolled back when it raises. Raises ``StoreError`` with a
    sentence when the database cannot be used.
    """

    dialect: str
    """Name of the folder that holds this dialect's SQL, such as ``sqlite``."""

    async def open(self) -> None:
        """Connect; create what is not there."""

    async def close(self) -> None:
        """Finish what was asked for and disconnect."""

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run a reading function; it sees all that was written before."""

    def write(self, work: Callable[[Connection], T], *, durable: bool = False) -> Awaitable[T]:
        """Hand over a writing function; the order of the calls is the order of the writes.

        Once awaited it has been committed: with ``durable`` it survives a power cut, without, the
        death of the process."""

    async def migrate(self, component: str, steps: Sequence[Migration]) -> None:
        """Bring a component's tables up to date, one transaction a step, recorded with a
        checksum; the database is backed up first when anything changes. Raises ``StoreError`` if
        it is newer than ``steps`` or a recorded step has changed."""

    def session_lock(self, session_id: str, timeout: float) -> AbstractAsyncContextManager[None]:
        """Own a session among all processes. Raises ``StoreError`` after ``timeout`` seconds,
        naming the holder."""

    def statements(self, sql: str) -> Iterable[str]:
        """The single statements of ``sql``."""

    def search_statements(self, table: str) -> Mapping[str, str]:
        """SQL for a full-text table: ``create put delete query``, with ``:key :text :limit``."""

    def search_text(self, text: str) -> str:
        """``text`` as it is put into a full-text table (CJK is split into characters)."""

    def search_query(self, text: str) -> str:
        """What a person typed as a valid query for every word of it; empty if it has none."""

    def location(self) -> Path | str:
        """Where the data is, for people."""
