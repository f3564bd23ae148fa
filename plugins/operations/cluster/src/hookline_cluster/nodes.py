"""Who takes part: a row for each process, with when it was last heard of."""

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
GONE_SECONDS = 15.0
"""Without a word, after which a process is not counted."""
FORGOTTEN_SECONDS = 3600.0


@dataclass
class Nodes:
    """This process among the others.

    ``turns`` says how many chats it has at hand.
    """

    storage: Storage
    turns: Callable[[], int]
    kind: str = ""
    id: str = field(default_factory=lambda: uuid4().hex[:12])
    place: str = field(default_factory=lambda: f"process {os.getpid()} on {socket.gethostname()}")

    async def beat(self) -> None:
        """Tell that this process lives. Raises ``Fenced`` if others have taken it for dead."""
        row = {"id": self.id, "kind": self.kind, "place": self.place}
        await self.storage.execute("beat", **row, turns=self.turns())

    async def leave(self) -> None:
        """Be there no longer."""
        await self.storage.execute("leave", id=self.id)

    async def tidy(self) -> None:
        """Forget processes that have been gone for long."""
        await self.storage.execute("forget", seconds=FORGOTTEN_SECONDS)

    async def status(self) -> dict[str, Any]:
        """``{nodes: [{id, kind, place, beat, turns}], waiting, open}``: messages that wait, and
        turns that have not ended."""
        rows = await self._rows()
        counts: Mapping[str, Any] = (await self.storage.fetch("counts"))[0]
        return {"nodes": [dict(row) for row in rows], **counts}

    async def _rows(self) -> list[Row]:
        return await self.storage.fetch("nodes", seconds=GONE_SECONDS)
