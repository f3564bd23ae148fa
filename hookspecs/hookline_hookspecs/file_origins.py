"""Where files came from, and keeping where a text came from with what is learnt from it.

The service :class:`FileOrigins`, how to ask it, and :mod:`.kept`.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from hookline_hookspecs import Host, Origin

__all__ = ["FileOrigins", "origins_of"]


class FileOrigins(Protocol):
    """Says where files came from; offered by the plugin that keeps track of them."""

    async def of(self, paths: Iterable[Path]) -> tuple[Origin, ...]:
        """Return the origins of files that came from outside; a folder stands for what is in it."""


async def origins_of(host: Host, paths: Iterable[Path]) -> tuple[Origin, ...]:
    """Return the origins of files; empty if nobody keeps track of them."""
    service: FileOrigins | None = host.services.get(FileOrigins)
    return await service.of(paths) if service is not None else ()
