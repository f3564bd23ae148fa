"""What one sandboxed program sees: its places, in terms that every method understands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .survey import Findings


@dataclass(frozen=True, slots=True)
class View:
    """The places of one program. All paths are absolute and real.

    workspace: can be written, but for what ``findings`` names.
    private: a folder with ``tmp`` and ``home``, which stand in for those of the machine.
    home: Hookline's own; out of reach, but for a workspace within it.
    read_only, writable: folders beside the system and the workspace.
    proxy: the Unix socket of a :class:`~hookline_sandbox.proxy.Proxy`; None = no network.
    """

    workspace: Path
    private: Path
    home: Path
    findings: Findings = field(default_factory=Findings)
    read_only: Sequence[Path] = ()
    writable: Sequence[Path] = ()
    proxy: Path | None = None

    def visible(self) -> list[Path]:
        """The folders of the machine that are shown beside the system."""
        return [*self.read_only, *self.writable, self.workspace]


def within(path: Path | str, folders: Iterable[Path]) -> bool:
    """True if ``path`` is one of the ``folders`` or below one."""
    return any(Path(path).is_relative_to(folder) for folder in folders)
