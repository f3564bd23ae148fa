"""Opens the store that a person names: ``sqlite``, a path, or an address."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import cast

from hookline_hookspecs.drivers import Store
from hookline_hookspecs.errors import StoreError

DATABASE = "hookline.db"


def store_at(address: str, home: Path) -> Store:
    """The store that ``address`` names, not open yet.

    ``sqlite`` is the home's own store; a path is a database file or a home that has one.

    Raises:
        StoreError: the store's driver is not installed, or the address is invalid.
    """
    scheme, separator, rest = address.partition("://")
    if separator and scheme != "sqlite":
        return _driver(scheme)(address, home)
    if address == "sqlite":
        return _driver("sqlite")(address, home)
    path = Path(rest if separator else address).expanduser().absolute()
    if path.is_dir():
        path = path / DATABASE
    return _driver("sqlite")(f"sqlite://{path}", path.parent)


def expect_data(store: Store) -> None:
    """Raise ``StoreError`` if ``store`` is a file that does not exist."""
    where = store.location()
    if isinstance(where, Path) and not where.is_file():
        raise StoreError(f"No database at {where}. Name the home or the file to copy from.")


async def expect_alone(store: Store) -> None:
    """Raise ``StoreError`` if another process uses ``store``, which must not be open here."""
    users = await store.users()
    if users:
        raise StoreError(
            f"{store.location()} is in use by {', '.join(users)}. Stop it (a gateway, a worker or "
            "a chat), so that nothing is written during the copy, and try again."
        )


def _driver(name: str) -> Callable[[str, Path], Store]:
    found = next(iter(entry_points(group="hookline.stores", name=name)), None)
    if found is None:
        raise StoreError(
            f"The store {name!r} is not installed. Write postgresql://… (package "
            "hookline-postgres), or a path that starts with / or a dot."
        )
    return cast("Callable[[str, Path], Store]", found.load())
