"""Opens a real store, found like core finds it, in the entry points ``hookline.stores``."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from hookline.config import find_driver


@asynccontextmanager
async def open_store(home: Path, url: str = "sqlite") -> AsyncIterator[Any]:
    """Open a store driver (protocol ``Store``) for the duration of the block.

    Args:
        home: the folder to use as its home.
        url: a value of ``store:`` in ``config.yaml``: a driver's name, or a URL whose scheme is the
            name.

    Raises:
        LookupError: no installed dist provides that driver.
    """
    name = url.split(":", 1)[0]
    driver = find_driver("hookline.stores", name)
    if driver is None:
        raise LookupError(
            f"no store driver {name} is installed; install the dist that brings it "
            f"(hookline-{name}), or name another one with --hookline-store"
        )
    store = driver(url, home)
    await store.open()
    try:
        yield store
    finally:
        await store.close()
