"""The service ``Workspaces``: where chats work."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hookline_hookspecs.paths import Paths

from ..engine import Engine
from .context import workspace_of


class ConfiguredWorkspaces:
    """Implements ``Workspaces`` with the settings ``workspace`` and ``paths.allowed_roots``."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def default(self, channel: str, chat_id: str) -> Path:
        """The configured folder, or the chat's own."""
        return workspace_of(self._engine, channel, chat_id)

    def is_private(self, workspace: Path) -> bool:
        """True below ``chats`` in Hookline's home."""
        chats = (self._engine.home / "chats").resolve()
        return workspace.resolve().is_relative_to(chats)

    def allowed_roots(self) -> Sequence[Path]:
        """The folders of ``paths.allowed_roots``."""
        return [Path(root).expanduser() for root in self._engine.config.paths.allowed_roots]

    def paths(self, workspace: Path) -> Paths:
        """A guard of the workspace."""
        return self._engine.guard_paths(workspace)
