"""A plugin's own storage: tables, small values, full-text search."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar

T = TypeVar("T")


Row: TypeAlias = Mapping[str, Any]


class Transaction(Protocol):
    """An open transaction; its methods are synchronous. ``name`` is a query in the plugin's
    ``sql`` folder. If the function raises, everything is rolled back."""

    def fetch(self, name: str, /, **params: Any) -> list[Row]:
        """Return the rows of the named query."""

    def execute(self, name: str, /, **params: Any) -> int:
        """Run the named statement and return the number of rows it affected."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A search result; a higher ``score`` is a better match."""

    key: str
    score: float
    text: str


class SearchIndex(Protocol):
    """Full-text search over a plugin's own documents. Any text is a valid query; CJK works."""

    async def put(self, key: str, text: str) -> None:
        """Add or replace the document ``key``."""

    async def delete(self, key: str) -> None:
        """Remove the document ``key``, if it exists."""

    async def query(self, text: str, limit: int = 10) -> list[Hit]:
        """Return the documents that contain every word of ``text``, best match first."""


class KeyValue(Protocol):
    """Small named JSON values, private to the plugin and durable."""

    async def get(self, key: str, default: Any = None) -> Any:
        """Return the value of ``key``, or ``default``."""

    async def set(self, key: str, value: Any) -> None:
        """Store a JSON value."""

    async def delete(self, key: str) -> None:
        """Remove ``key``, if it exists."""

    async def keys(self, prefix: str = "") -> list[str]:
        """Return the stored keys that start with ``prefix``, sorted."""


class Storage(Protocol):
    """A plugin's own storage.

    Tables come from ``migrations/NNNN_name.sql`` next to the plugin's module (table names start
    with the plugin's name), queries from ``sql/*.sql`` (``-- name: recent_facts``,
    ``-- name: add_fact!`` for a write).
    """

    @property
    def dir(self) -> Path:
        """The plugin's own folder, created on first use with mode 0700."""

    kv: KeyValue
    """Small JSON values."""

    search: SearchIndex
    """Full-text search over the plugin's documents."""

    @property
    def changes(self) -> int | None:
        """A number that changes when another process writes the plugin's tables or values; it may
        also change for other reasons. None if the store cannot tell."""
        return None

    async def fetch(self, name: str, /, **params: Any) -> list[Row]:
        """Return the rows of a named query."""

    async def execute(self, name: str, /, **params: Any) -> int:
        """Run a named statement and return the number of rows it affected."""

    async def transact(self, work: Callable[[Transaction], T]) -> T:
        """Run a synchronous function in one transaction and return its result."""
