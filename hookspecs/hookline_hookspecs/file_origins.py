"""Where files came from: the service :class:`FileOrigins`, and :func:`origins_of`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from hookline_hookspecs import Host, Origin

__all__ = ["FileOrigins", "origins_of"]


class FileOrigins(Protocol):
    """Knows where files came from; provided by the plugin that tracks them."""

    async def of(self, paths: Iterable[Path]) -> tuple[Origin, ...]:
        """Return the origins of files from outside; a folder stands for all files in it."""


async def origins_of(host: Host, paths: Iterable[Path]) -> tuple[Origin, ...]:
    """Return the origins of files; empty if no plugin tracks them."""
    service: FileOrigins | None = host.services.get(FileOrigins)
    return await service.of(paths) if service is not None else ()
