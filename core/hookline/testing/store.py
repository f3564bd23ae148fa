"""Opens a real store, found like core finds it, in the entry points ``hookline.stores``."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from hookline.config import find_driver


def store_url() -> str:
    """The store of a test that names none: ``HOOKLINE_TEST_STORE``, else ``sqlite``."""
    return os.environ.get("HOOKLINE_TEST_STORE") or "sqlite"


@asynccontextmanager
async def open_store(home: Path, url: str = "") -> AsyncIterator[Any]:
    """Open a store driver (protocol ``Store``) for the duration of the block.

    Args:
        home: the folder to use as its home.
        url: a value of ``store:`` in ``config.yaml``: a driver's name, or a URL whose scheme is the
            name; :func:`store_url` if it is left out.

    Raises:
        LookupError: no installed dist provides that driver.
    """
    url = url or store_url()
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
