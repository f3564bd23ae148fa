"""What the plugin's own parts use of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from hookline_hookspecs import Host

from .config import ConnectionConfig, DatabasesConfig, Place
from .engines.base import Engine, Limits, Stop

T = TypeVar("T")


class Parts(Protocol):
    """The plugin, as its parts see it."""

    config: DatabasesConfig
    host: Host
    limits: Limits

    def connection(self, name: str) -> ConnectionConfig:
        """Return a configured connection. Raises ``ToolError`` with those that there are."""

    def left_out(self) -> dict[str, str]:
        """What is wrong with each connection that is left out, by its name."""

    def place(self, name: str) -> Place:
        """Return where a connection leads, without its password."""

    async def run(self, name: str, work: Callable[[Engine, Stop], T]) -> T:
        """Run blocking work on a connection's engine in a thread."""
