"""The processes in the cluster: a row for each, with its last heartbeat."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from hookline_hookspecs import Storage
from hookline_hookspecs.storage import Row

BEAT_SECONDS = 5.0
DEAD_NODE_SECONDS = 15.0
"""Seconds of silence after which a process counts as dead."""
DELETE_NODE_SECONDS = 3600.0


@dataclass
class ClusterNodes:
    """This process and the others.

    ``turns`` returns how many chats this process works on.
    """

    storage: Storage
    turns: Callable[[], int]
    kind: str = ""
    id: str = field(default_factory=lambda: uuid4().hex[:12])
    place: str = field(default_factory=lambda: f"process {os.getpid()} on {socket.gethostname()}")

    async def beat(self) -> None:
        """Send a heartbeat. Raises ``Fenced`` if others have declared this process dead."""
        row = {"id": self.id, "kind": self.kind, "place": self.place}
        await self.storage.execute("beat", **row, turns=self.turns())

    async def leave(self) -> None:
        """Remove this process."""
        await self.storage.execute("leave", id=self.id)

    async def tidy(self) -> None:
        """Delete the rows of processes that have been dead for long."""
        await self.storage.execute("forget", seconds=DELETE_NODE_SECONDS)

    async def status(self) -> dict[str, Any]:
        """``{nodes: [{id, kind, place, beat, turns}], waiting, open}``.

        ``waiting`` counts queued messages, ``open`` running turns.
        """
        rows = await self._rows()
        counts: Mapping[str, Any] = (await self.storage.fetch("counts"))[0]
        return {"nodes": [dict(row) for row in rows], **counts}

    async def _rows(self) -> list[Row]:
        return await self.storage.fetch("nodes", seconds=DEAD_NODE_SECONDS)
