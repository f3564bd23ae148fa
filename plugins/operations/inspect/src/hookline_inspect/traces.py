"""Stores and reads traces in the plugin's own table. Reading does not create the table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from hookline_hookspecs import Host, Inspection, Transaction

Tree: TypeAlias = dict[str, Any]
"""A step: ``type name plugin ms changed verdict reason children at``, and ``origins`` if it read
anything."""
TABLE = "inspect_traces"


async def store_trace(
    host: Host, row: Mapping[str, Any], tree: Tree, turns: int, max_bytes: int
) -> None:
    """Store a turn's tree; delete the oldest traces beyond ``turns`` or ``max_bytes``."""
    text = _json(tree)
    if len(text.encode()) > max_bytes:
        text = _json({**tree, "children": [], "reason": "the trace was too large to store"})
    size = len(text.encode())

    def work(transaction: Transaction) -> None:
        transaction.execute("put_trace", **row, tree=text, bytes=size)
        transaction.execute("prune_traces", turns=turns, bytes=max_bytes)

    await host.storage.transact(work)


async def has_table(host: Host) -> bool:
    """Whether the table of traces exists."""
    return TABLE in (await host.services[Inspection].storage_used(host.plugin)).tables


async def latest_session(host: Host) -> str | None:
    """The session of the newest trace; one of a sub-agent only if there is no other."""
    rows = await host.storage.fetch("latest_session") if await has_table(host) else []
    return rows[0]["session_id"] if rows else None


async def session_traces(host: Host, session_id: str) -> list[Mapping[str, Any]]:
    """The session's traces, oldest first: ``turn_id started tree``, the tree as JSON."""
    if not await has_table(host):
        return []
    return await host.storage.fetch("session_traces", session_id=session_id)


async def turn_trace(host: Host, session_id: str, turn_id: str) -> Tree | None:
    """The trace of a turn; None if it was not recorded."""
    if not await has_table(host):
        return None
    rows = await host.storage.fetch("turn_trace", session_id=session_id, turn_id=turn_id)
    tree: Tree | None = json.loads(rows[0]["tree"]) if rows else None
    return tree


async def forget_session(host: Host, session_id: str) -> None:
    """Delete the traces of a session."""
    if await has_table(host):
        await host.storage.execute("forget_session", session_id=session_id)


def _json(tree: Tree) -> str:
    return json.dumps(tree, ensure_ascii=False, separators=(",", ":"))
