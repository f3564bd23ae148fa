"""Opens a real store from the entry points ``hookline.stores``, as core does."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from hookline.config import find_driver


def store_url() -> str:
    """The default store of tests: ``HOOKLINE_TEST_STORE``, or else ``sqlite``."""
    return os.environ.get("HOOKLINE_TEST_STORE") or "sqlite"


@asynccontextmanager
async def open_store(home: Path, url: str = "") -> AsyncIterator[Any]:
    """Open a store driver (protocol ``Store``) for the duration of the ``async with`` block.

    Args:
        home: the folder to use as its home.
        url: a value of ``store:`` in ``config.yaml``: a driver's name, or a URL whose scheme is the
            name. Default: :func:`store_url`.

    Raises:
        LookupError: no installed distribution provides that driver.
    """
    url = url or store_url()
    name = url.split(":", 1)[0]
    driver = find_driver("hookline.stores", name)
    if driver is None:
        raise LookupError(
            f"the store driver {name} is not installed; install the distribution that provides it "
            f"(hookline-{name}), or choose another with --hookline-store"
        )
    store = driver(url, home)
    await store.open()
    try:
        yield store
    finally:
        await store.close()
