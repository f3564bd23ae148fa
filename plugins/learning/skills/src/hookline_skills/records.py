"""Stores what is known about skills besides their files: authors, pins, and every use."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from uuid import uuid4

from hookline_hookspecs import Context, Storage, Transaction
from hookline_hookspecs import Origin as Origin_
from hookline_hookspecs.stored_origins import kept

from . import safely

How = Literal["viewed", "injected", "asked"]
Origin = Literal["agent", "installed", "hand-written", "plugin", "team"]
MARKER = ".hookline"
"""The file in the folder of a skill that the agent has made."""
KEPT = 400 * 86_400.0
"""Seconds for which uses are kept."""


@dataclass(frozen=True, slots=True)
class Use:
    """How often a skill was used, and when it was last used (Unix time), None if never."""

    count: int = 0
    last: float | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """What a change came from: the session and turn it was learnt in, empty for a person's, and
    whose words it was made from."""

    author: str
    session_id: str = ""
    turn_id: str = ""
    origins: tuple[Origin_, ...] = ()


class Records:
    """The plugin's tables about skills, history aside.

    Args:
        storage: gives the plugin's own, when it is first used.
        now: the clock, Unix time in seconds.
    """

    def __init__(self, storage: Callable[[], Storage], now: Callable[[], float]) -> None:
        self._open = storage
        self._now = now

    async def made(self) -> dict[str, tuple[str, float]]:
        """Marker and time, by name, of the skills that the agent has made."""
        rows = await self._open().fetch("made")
        return {row["name"]: (row["marker"], row["at"]) for row in rows}

    async def make(self, name: str) -> str:
        """Record that the agent has made a skill; return the marker for its folder."""
        marker = uuid4().hex
        at = self._now()

        def work(store: Transaction) -> None:
            store.execute("unmake", name=name)
            store.execute("make", name=name, marker=marker, at=at)

        await self._open().transact(work)
        return marker

    async def agents(self, root: Path) -> dict[str, float]:
        """When they were made, of the skills below ``root`` whose folder is the agent's."""
        made = await self.made()
        return {name: at for name, (mark, at) in made.items() if marker_of(root / name) == mark}

    async def pins(self) -> set[str]:
        """The pinned skills."""
        return {row["name"] for row in await self._open().fetch("pins")}

    async def pin(self, name: str) -> None:
        """Keep a skill from being changed by the agent or archived."""

        def work(store: Transaction) -> None:
            store.execute("unpin", name=name)
            store.execute("pin", name=name)

        await self._open().transact(work)

    async def unpin(self, name: str) -> None:
        """Unpin a skill."""
        await self._open().execute("unpin", name=name)

    async def activate(self, ctx: Context, name: str, how: How) -> None:
        """Note a use."""
        await self._open().execute(
            "activate",
            name=name,
            how=how,
            session_id=ctx.session.id,
            turn_id=ctx.turn.id,
            at=self._now(),
        )

    async def uses(self) -> dict[str, Use]:
        """The uses by skill."""
        rows = await self._open().fetch("uses")
        return {row["name"]: Use(row["uses"], row["last"]) for row in rows}

    async def prune(self) -> None:
        """Delete very old uses."""
        await self._open().execute("forget_activations", before=self._now() - KEPT)

    async def source(self, ctx: Context) -> Source:
        """What is learnt from in ``ctx``: a review learns from the session it was forked from."""
        session, origins = ctx.session, kept(ctx.origins)
        if session.kind != "review" or session.parent_id is None:
            return Source("agent", session.id, ctx.turn.id, origins)
        rows = await self._open().fetch("latest_turn", session_id=session.parent_id)
        turn_id = rows[0]["id"] if rows else ctx.turn.id
        return Source("review", session.parent_id, turn_id, origins)


def marker_of(folder: Path) -> str:
    """The marker in a skill's folder; empty if there is none."""
    with suppress(OSError, ValueError):
        return safely.read_bytes(folder, MARKER, 100).decode("ascii").strip()
    return ""
