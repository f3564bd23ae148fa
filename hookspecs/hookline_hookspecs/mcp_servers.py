"""The service with which a plugin offers MCP servers to the plugin ``mcp``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

__all__ = ["OfferedServer", "ServerSource"]


@dataclass(frozen=True, slots=True)
class OfferedServer:
    """An MCP server. It is not started before a person has seen all of this and allowed it.

    If any of it changes, the person is asked again.

    Attributes:
        name: its name; a server of config.yaml or of an earlier source with this name wins.
        entry: what an MCP client's ``mcpServers`` would say.
        source: who offers it, as shown to people.
        version: the version of what holds it, as shown to people.
        pin: changes with the content of the folder ``root``, such as its hash.
        root: the folder that its program may read.
        data: the folder that its program may write to; it is made before the program starts.
        expands: whether ``${NAME}`` in the entry stands for a variable of the environment.
        hosts: the hosts that its program names.
    """

    name: str
    entry: Mapping[str, Any]
    source: str
    version: str
    pin: str
    root: str
    data: str
    expands: bool = True
    hosts: tuple[str, ...] = ()


class ServerSource(Protocol):
    """Offers MCP servers; add one with ``host.services.add(ServerSource, …)`` in ``setup``."""

    def servers(self) -> Sequence[OfferedServer]:
        """Return the servers that there are now."""
        return ()
