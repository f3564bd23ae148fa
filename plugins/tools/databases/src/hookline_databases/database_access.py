"""The interface of the plugin that its own modules use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from hookline_hookspecs import Host

from .config import ConnectionConfig, DatabaseLocation, DatabasesConfig
from .engines.base import DatabaseEngine, StatementLimits, StopSignal

T = TypeVar("T")


class DatabaseAccess(Protocol):
    """Access to the configured databases; the plugin implements it."""

    config: DatabasesConfig
    host: Host
    limits: StatementLimits

    def connection(self, name: str) -> ConnectionConfig:
        """Return a configured connection. Raises ``ToolError``, which lists the known ones."""

    def left_out(self) -> dict[str, str]:
        """The configuration errors of unused connections, by name."""

    def location(self, name: str) -> DatabaseLocation:
        """Return the location of a connection, without its password."""

    async def run(self, name: str, work: Callable[[DatabaseEngine, StopSignal], T]) -> T:
        """Run blocking work on a connection's engine in a thread."""
