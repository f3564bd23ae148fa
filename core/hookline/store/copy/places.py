"""Stores by what a person calls them: ``sqlite``, a path, or an address."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import cast

from hookline_hookspecs.drivers import Store
from hookline_hookspecs.errors import StoreError

DATABASE = "hookline.db"


def store_at(place: str, home: Path) -> Store:
    """The store that ``place`` names, not open yet.

    ``sqlite`` is the home's own; a path is a database file or a home with one.

    Raises:
        StoreError: its driver is not installed, or the address cannot be read.
    """
    scheme, is_address, rest = place.partition("://")
    if is_address and scheme != "sqlite":
        return _driver(scheme)(place, home)
    if place == "sqlite":
        return _driver("sqlite")(place, home)
    path = Path(rest if is_address else place).expanduser().absolute()
    if path.is_dir():
        path = path / DATABASE
    return _driver("sqlite")(f"sqlite://{path}", path.parent)


def expect_data(store: Store) -> None:
    """Raise ``StoreError`` if ``store`` is a file that is not there."""
    where = store.location()
    if isinstance(where, Path) and not where.is_file():
        raise StoreError(f"There is no database {where}. Name the home or the file to copy from.")


async def expect_alone(store: Store) -> None:
    """Raise ``StoreError`` if another process has ``store``, which is not open here, in use."""
    users = await store.users()  # type: ignore[attr-defined]
    if users:
        raise StoreError(
            f"{store.location()} is in use by {', '.join(users)}. Stop it (a gateway, a worker, a "
            "chat), so that nothing is written meanwhile, and begin again."
        )


def _driver(name: str) -> Callable[[str, Path], Store]:
    found = next(iter(entry_points(group="hookline.stores", name=name)), None)
    if found is None:
        raise StoreError(
            f"The store {name!r} is not installed. An address begins with postgresql:// (package "
            "hookline-postgres), a path with / or a dot."
        )
    return cast("Callable[[str, Path], Store]", found.load())
