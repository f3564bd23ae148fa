"""A real store, found as core finds it: by the entry point group ``hookline.stores``."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from hookline.engine import find_driver


@asynccontextmanager
async def open_store(home: Path, url: str = "sqlite") -> AsyncIterator[Any]:
    """A store driver (protocol ``Store``), open while the block runs.

    Args:
        home: the folder that becomes its home.
        url: what ``store:`` says in ``config.yaml``: a driver's name, or a URL whose scheme names
            it.

    Raises:
        LookupError: no installed dist has that driver.
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
