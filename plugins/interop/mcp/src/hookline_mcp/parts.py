"""What the commands need of the plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from hookline_hookspecs import Host

from .catalog import Catalog
from .config import McpConfig
from .servers import Configured

if TYPE_CHECKING:
    from .pool import Pool


class Parts(Protocol):
    """The parts of the plugin that reach the servers."""

    config: McpConfig
    host: Host
    catalog: Catalog

    @property
    def servers(self) -> Configured:
        """Every server that this process knows of."""

    @property
    def pool(self) -> Pool:
        """The connections."""
