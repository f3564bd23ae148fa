"""Drivers for model providers and stores; the config chooses exactly one of each.

A driver is an entry point in the group ``hookline.providers`` or ``hookline.stores``.
"""

from __future__ import annotations

from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

from .requests import Delta, ModelRequest, ModelResponse, WireRequest
from .turns import CachePrice

T = TypeVar("T")
DeltaSink: TypeAlias = Callable[[Delta], None]


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """The settings a provider is created with; ``options`` are the driver's own keys.

    ``key_env`` is the environment variable that holds the key, for error messages; empty if
    unknown. ``home`` is Hookline's home, where a driver may store what it learns about a server;
    with None it stores nothing.
    """

    name: str
    base_url: str | None
    api_key: str
    headers: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    key_env: str = ""
    home: Path | None = field(default=None, compare=False)


class Provider(Protocol):
    """A model API, created as ``Driver(settings: ProviderSettings)``.

    The class is imported when one of its models is chosen. It imports its SDK when the first
    request is sent.
    """

    name: str
    cache_price: CachePrice = CachePrice()
    """The price of input tokens that are read from or written to the cache."""

    def render(self, request: ModelRequest) -> WireRequest:
        """Return the request in this provider's encoding.

        Equal messages must give equal bytes, so that a request repeats the previous one unchanged.
        """

    async def send(self, wire: WireRequest, on_delta: DeltaSink | None) -> ModelResponse:
        """Send the request, streaming to ``on_delta`` if given. Raises ``ProviderError``."""

    async def aclose(self) -> None:
        """Close connections."""


@runtime_checkable
class DriverOptions(Protocol):
    """A driver that names its own keys of ``providers.NAME``; others accept any key."""

    option_names: Collection[str]
    """The keys beside core's: ``driver base_url api_key headers window``."""


@runtime_checkable
class ModelWindows(Protocol):
    """A provider that learns the context windows of its models."""

    def window(self, model: str) -> int | None:
        """Return the window of ``provider/model`` in tokens; None if it is not known yet."""


Params: TypeAlias = Mapping[str, Any]


class Connection(Protocol):
    """A database connection in a transaction; used only on the store's thread.

    SQL uses ``:name`` parameters; rows are mappings.
    """

    def fetch(self, sql: str, params: Params = ...) -> list[Mapping[str, Any]]:
        """Return the rows of a query."""

    def execute(self, sql: str, params: Params = ...) -> int:
        """Run one statement and return the number of rows it affected."""

    def batch(self, statements: Sequence[tuple[str, Params]]) -> list[int]:
        """Run statements in order, in one round trip; return the row count of each."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Work for :meth:`Store.write` that needs no row counts, so that a store can run the statements
    and commit in one round trip."""

    statements: Sequence[tuple[str, Params]]

    def __call__(self, connection: Connection) -> None:
        """Run the statements in order."""
        connection.batch(self.statements)


@dataclass(frozen=True, slots=True)
class Migration:
    """A migration of a component's tables: ``number`` starts at 1, ``sql`` is any statements."""

    number: int
    name: str
    sql: str


@dataclass(frozen=True, slots=True)
class Ownership:
    """A lease in a shared store. ``epoch`` is larger than that of every earlier owner."""

    key: str
    epoch: int


class Store(Protocol):
    """A database, of any dialect. Created as ``Driver(url: str, home: Path)``.

    Work is a synchronous function that takes a :class:`Connection`. It runs on the store's thread
    in one transaction, which is rolled back if it raises. If several machines share the database,
    it may be run more than once, so it must not do anything else.

    Raises:
        StoreError: the database cannot be used.
        Fenced: other processes have declared this one dead and taken over what it owned. All its
            later writes are refused.
    """

    dialect: str
    """The name of the folder with this dialect's SQL, such as ``sqlite``."""

    is_shared: bool = False
    """True if processes on several machines use this database."""

    conninfo: str | None = None
    """The libpq connection string, if it is a PostgreSQL database."""

    def changes_of(self, prefix: str) -> int | None:
        """Return a number that changes when another process writes a table of this name prefix.

        It may also change for other reasons. None if the store cannot tell.
        """
        return None

    async def open(self) -> None:
        """Connect, creating the database if it does not exist."""

    async def close(self) -> None:
        """Finish pending work and disconnect."""

    async def read(self, work: Callable[[Connection], T], *, key: str = "") -> T:
        """Run a function that reads; it sees this process's earlier writes, at least of ``key``."""

    def write(
        self, work: Callable[[Connection], T], *, key: str = "", durable: bool = False
    ) -> Awaitable[T]:
        """Submit a function that writes; writes with the same key run in the order of the calls.

        Once awaited, the write is committed and survives a crash of the process; with ``durable``
        it also survives a power failure.
        """

    async def migrate(self, component: str, steps: Sequence[Migration]) -> None:
        """Migrate a component's tables.

        Each step is one transaction and is recorded with a checksum. The database is backed up
        before the first one.

        Raises:
            StoreError: the tables are newer than ``steps``, or a recorded step has changed.
        """

    def own(
        self, key: str, timeout: float, what: str = ""
    ) -> AbstractAsyncContextManager[Ownership]:
        """Own ``key`` among all tasks and processes until the block ends or this process dies.

        A negative ``timeout`` only tests whether ``key`` is owned. Where the store can, the test
        itself does not look like an owner to others.

        Raises:
            StoreError: another owner held it for ``timeout`` seconds. The error names the owner
                and ``what``, by default the key.
        """

    async def notify(self, topic: str, payload: str) -> None:
        """Send up to 7,000 bytes to all current listeners. It is not stored and may be lost."""

    def listen(self, topic: str) -> AbstractAsyncContextManager[AsyncIterator[str]]:
        """The payloads of ``topic`` sent after the block was entered.

        An empty payload means that some may be missing because the connection was lost. With
        SQLite only this process receives them, with PostgreSQL all that share the database.
        """

    def statements(self, sql: str) -> Iterable[str]:
        """Split ``sql`` into its statements."""

    def search_statements(self, table: str) -> Mapping[str, str]:
        """Return the SQL for a full-text table by name: ``create put delete query``.

        The parameters are ``:key :text :limit``.
        """

    def search_text(self, text: str) -> str:
        """Return ``text`` as stored in a full-text table (CJK is split into characters)."""

    def search_query(self, text: str) -> str:
        """Return a query for all words of a text that a person typed; empty if it has no words."""

    async def snapshot(self, path: Path) -> None:
        """Write everything committed to the new file ``path``, readable by its owner only.

        Others may read and write meanwhile.

        Raises:
            StoreError: the copy failed; no file is left.
        """

    async def users(self) -> list[str]:
        """Describe the other processes that use the database. It must not be open here.

        Raises:
            StoreError: the database cannot be read.
        """

    def location(self) -> Path | str:
        """Return where the data is, as shown to people."""
