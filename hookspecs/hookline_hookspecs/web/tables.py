"""Creates a plugin's tables before its pages need them."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any
from weakref import WeakSet

from ..errors import HooklineError
from ..host import Host

TABLES_TASK = "create tables for pages"
"""The name of the background task of :func:`create_tables`."""
_hosts_done: WeakSet[Host] = WeakSet()


def create_tables(host: Host, query: str, **params: Any) -> None:
    """Create the plugin's tables in the background, so that no page that only reads creates them.

    Call it in ``register_routes``. Does nothing where no event loop runs.

    Args:
        query: the name of any query of the plugin, run once with ``params``.
    """

    async def read() -> None:
        with suppress(HooklineError):  # the page that needs the tables reports the error
            await host.storage.fetch(query, **params)

    if host in _hosts_done:  # routes are registered again for each server
        return
    with suppress(RuntimeError):
        asyncio.get_running_loop()
        host.spawn(read(), TABLES_TASK)
        _hosts_done.add(host)
