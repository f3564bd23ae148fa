"""File origins come from the service that tracks them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hookline_hookspecs import Host, Origin, Plugin, hookimpl
from hookline_hookspecs.file_origins import FileOrigins, origins_of

Make = Callable[..., Any]
PAGE = Origin("outside", "https://page.example/")


class Asker(Plugin):
    """Asks for a file."""


class OriginsProvider(Plugin):
    """Knows of one file."""

    @hookimpl
    def setup(self, host: Host) -> None:
        """Offer the service."""
        host.services.provide(FileOrigins, self)

    async def of(self, paths: Iterable[Path]) -> tuple[Origin, ...]:
        """The origins."""
        return (PAGE,) if Path("page.md") in paths else ()


@pytest.mark.parametrize(
    ("plugins", "name", "origins"),
    [
        ((OriginsProvider,), "page.md", (PAGE,)),
        ((OriginsProvider,), "own.md", ()),
        ((), "page.md", ()),
    ],
)
def test_file_origins_come_from_the_service(
    harness: Make, plugins: tuple[type[Plugin]], name: str, origins: tuple[Origin, ...]
) -> None:
    h = harness(Asker, *plugins)
    h.states()
    assert h.run(origins_of(h.plugin(Asker).host, [Path(name)])) == origins
