"""What the database holds about skills besides their versions: who made them, pins and uses."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from uuid import uuid4

from hookline_hookspecs import Context, Origin, Storage, Transaction
from hookline_hookspecs.stored_origins import kept

from . import safe_files

UseKind = Literal["viewed", "injected", "asked"]
SkillSource = Literal["agent", "installed", "hand-written", "plugin", "team"]
MARKER_FILE = ".hookline"
"""Marks the folder of a skill that the agent made."""
USE_RETENTION_SECONDS = 400 * 86_400.0
"""How long uses are kept."""


@dataclass(frozen=True, slots=True)
class SkillUse:
    """How often a skill was used, and when last (Unix time in seconds; None if never)."""

    count: int = 0
    last: float | None = None


@dataclass(frozen=True, slots=True)
class ChangeSource:
    """Who changed a skill, in which session and turn (empty for a person), from whose words."""

    author: str
    session_id: str = ""
    turn_id: str = ""
    origins: tuple[Origin, ...] = ()


class SkillRecords:
    """The plugin's tables about skills, except versions.

    Args:
        storage: returns the plugin's storage; called on each use.
        now: returns Unix time in seconds.
    """

    def __init__(self, storage: Callable[[], Storage], now: Callable[[], float]) -> None:
        self._open = storage
        self._now = now

    async def created(self) -> dict[str, tuple[str, float]]:
        """Marker and creation time, by name, of the skills that the agent made."""
        rows = await self._open().fetch("made")
        return {row["name"]: (row["marker"], row["at"]) for row in rows}

    async def mark_created(self, name: str) -> str:
        """Record that the agent made a skill; return the marker for its folder."""
        marker = uuid4().hex
        at = self._now()

        def work(store: Transaction) -> None:
            store.execute("delete_made", name=name)
            store.execute("add_made", name=name, marker=marker, at=at)

        await self._open().transact(work)
        return marker

    async def agent_skills(self, root: Path) -> dict[str, float]:
        """Creation time, by name, of skills below ``root`` whose folder has the agent's marker."""
        made = await self.created()
        return {name: at for name, (mark, at) in made.items() if read_marker(root / name) == mark}

    async def pins(self) -> set[str]:
        """The pinned skills."""
        return {row["name"] for row in await self._open().fetch("pins")}

    async def pin(self, name: str) -> None:
        """Protect a skill from being changed by the agent or archived."""

        def work(store: Transaction) -> None:
            store.execute("unpin", name=name)
            store.execute("pin", name=name)

        await self._open().transact(work)

    async def unpin(self, name: str) -> None:
        """Unpin a skill."""
        await self._open().execute("unpin", name=name)

    async def record_use(self, ctx: Context, name: str, how: UseKind) -> None:
        """Record a use."""
        await self._open().execute(
            "add_activation",
            name=name,
            how=how,
            session_id=ctx.session.id,
            turn_id=ctx.turn.id,
            at=self._now(),
        )

    async def uses(self) -> dict[str, SkillUse]:
        """The uses by skill."""
        rows = await self._open().fetch("uses")
        return {row["name"]: SkillUse(row["uses"], row["last"]) for row in rows}

    async def prune(self) -> None:
        """Delete old uses."""
        await self._open().execute(
            "delete_old_activations", before=self._now() - USE_RETENTION_SECONDS
        )

    async def change_source(self, ctx: Context) -> ChangeSource:
        """Where a change in ``ctx`` comes from; a review learns from its parent session."""
        session, origins = ctx.session, kept(ctx.origins)
        if session.kind != "review" or session.parent_id is None:
            return ChangeSource("agent", session.id, ctx.turn.id, origins)
        rows = await self._open().fetch("latest_turn", session_id=session.parent_id)
        turn_id = rows[0]["id"] if rows else ctx.turn.id
        return ChangeSource("review", session.parent_id, turn_id, origins)


def read_marker(folder: Path) -> str:
    """The marker in a skill's folder; empty if it has none."""
    with suppress(OSError, ValueError):
        return safe_files.read_bytes(folder, MARKER_FILE, 100).decode("ascii").strip()
    return ""
