"""What serving needs of the plugin."""

from __future__ import annotations

from typing import Protocol

from hookline_hookspecs import Host

from .calls import Calls
from .config import McpServerConfig


class Parts(Protocol):
    """The plugin, as far as its command uses it."""

    config: McpServerConfig
    host: Host

    def calls(self, caller: str) -> Calls:
        """Return the tools for callers of one kind, ``stdio`` or ``http``."""
