"""Stores failures of plugins, so that other processes can show them."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from hookline_hookspecs import HooklineError, Host, Inspection, PluginFailure, Transaction

TABLE = "inspect_failures"


class FailureLog:
    """Stores the failures that core reports in this process, each one once.

    Args:
        host: the plugin's host.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._stored: set[PluginFailure] = set()

    def note(self, event: PluginFailure, **_rest: Any) -> None:
        """Store a failure soon (receiver of ``plugin_failed``)."""
        if event not in self._stored:
            self._host.spawn(self.store(), "storing failures")

    async def store(self) -> None:
        """Store new failures; the last twenty of each plugin are kept."""
        failures = self._host.services[Inspection].failures()
        new = {one: at for one, at in failures.items() if one not in self._stored}

        def work(transaction: Transaction) -> None:
            for one, at in new.items():
                row = {"hook": one.hook, "reason": one.reason, "at": at}
                transaction.execute("put_failure", plugin=one.plugin, **row)
                transaction.execute("prune_failures", plugin=one.plugin)

        if new:
            with suppress(HooklineError):  # no store, or it is broken or full
                await self._host.storage.transact(work)
            self._stored |= new.keys()


async def add_failures(host: Host, rows: Iterable[dict[str, Any]]) -> None:
    """Add ``errors`` to each plugin's row, newest first: ``hook reason at``.

    A plugin without another reason gets its last failure as the reason.
    """
    core = host.services[Inspection]
    found = {(row["plugin"], row["hook"], row["reason"]): row["at"] for row in await _stored(host)}
    found |= {(one.plugin, one.hook, one.reason): at for one, at in core.failures().items()}
    newest = sorted(found.items(), key=lambda item: item[1], reverse=True)
    for row in rows:
        row["errors"] = [
            {"hook": hook, "reason": reason, "at": at}
            for (plugin, hook, reason), at in newest
            if plugin == row["name"]
        ]
        if row["errors"] and not row["reason"]:
            last = row["errors"][0]
            row["reason"] = f"last failure: {last['hook']}: {last['reason']}"


async def _stored(host: Host) -> list[Any]:
    """The stored failures; reading them does not create the table."""
    try:
        if TABLE in (await host.services[Inspection].storage_used(host.plugin)).tables:
            return await host.storage.fetch("failures")
    except HooklineError:  # no store is installed, so nothing was stored
        pass
    return []
