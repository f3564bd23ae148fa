"""The folders that chats work in."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from .paths import Paths

ChangeKind = Literal["added", "changed", "deleted"]


class Workspaces(Protocol):
    """Where chats work. ``host.services[Workspaces]`` is always available."""

    def default(self, channel: str, chat_id: str) -> Path:
        """Return the workspace of a chat whose messages name none; it may not exist."""

    def is_private(self, workspace: Path) -> bool:
        """Return whether a folder belongs to one chat, in Hookline's home."""

    def allowed_roots(self) -> Sequence[Path]:
        """Return the folders of ``paths.allowed_roots``."""

    def paths(self, workspace: Path) -> Paths:
        """Return guarded file access to a workspace, as ``ctx.paths`` in a turn."""


class WorkFolders(Protocol):
    """The folders that operators may choose for a chat on the page; provided by ``web-ui``."""

    async def is_known(self, folder: Path) -> bool:
        """Return whether the folder can be chosen already."""

    async def begin_in(self, folder: Path) -> None:
        """Make the folder the one that operators' new chats work in, until this process ends. It
        can be chosen from now on, in later processes too."""


@dataclass(frozen=True, slots=True)
class FileChanges:
    """What differs from a checkpoint.

    Attributes:
        since: when the checkpoint was made, Unix time in seconds.
        files: what happened to each changed file, by its path below the workspace, with ``/``.
    """

    since: float
    files: Mapping[str, ChangeKind]


class FileHistory(Protocol):
    """Compares a workspace with its checkpoints. The plugin ``checkpoints`` provides it."""

    async def changes(
        self, sessions: Collection[str], chat: tuple[str, str], paths: Paths, *, first: bool = False
    ) -> FileChanges | None:
        """Return what has changed in a workspace since the sessions' last checkpoint of it, or
        their ``first`` one; None if there is none, or it cannot be compared.

        ``chat`` is the channel and the chat id.
        """
        return None

    async def before(
        self, sessions: Collection[str], chat: tuple[str, str], paths: Paths, path: str
    ) -> bytes | None:
        """Return a file as it was at the last checkpoint; None if it did not exist or was not
        saved."""
        return None
