"""The places that one sandboxed program sees, for every method."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .survey import Findings


@dataclass(frozen=True, slots=True)
class View:
    """The places of one program. All paths are absolute and real.

    workspace: writable, except for the paths in ``findings``.
    private: a folder with ``tmp`` and ``home``, which replace those of the machine.
    home: Hookline's own; hidden, except for a workspace inside it.
    repository: the folder of the workspace's repository if it is outside of the workspace.
    read_only, writable: folders besides the system and the workspace.
    proxy_port: the machine's port of a proxy, for macOS; 0 = no network.
    kept: paths in ``findings`` that a program may change under Landlock, because they are put back
    afterwards.
    read_only_inside: paths in writable folders that no program may change or move.
    local_ports: ports of this machine that the proxy leads to, at the sandbox's own loopback.
    proxy: the Unix socket of a :class:`~hookline_sandbox.proxy.Proxy`; None = no network.
    """

    workspace: Path
    private: Path
    home: Path
    findings: Findings = field(default_factory=Findings)
    repository: Path | None = None
    read_only: Sequence[Path] = ()
    writable: Sequence[Path] = ()
    proxy: Path | None = None
    local_ports: tuple[int, ...] = ()
    kept: frozenset[str] = frozenset()
    proxy_port: int = 0
    read_only_inside: tuple[str, ...] = ()

    def around_read_only(self) -> list[str]:
        """Return the folders that contain a part of ``read_only_inside``: one that is moved would
        take it along."""
        roots = {str(root) for root in (*self.visible(), self.repository) if root is not None}
        around: dict[str, None] = {}
        for path in self.read_only_inside:
            folder = path
            while folder not in roots and folder != "/":
                folder = str(Path(folder).parent)
                around[folder] = None
        return [folder for folder in around if folder not in roots]

    def visible(self) -> list[Path]:
        """Return the folders of the machine that are visible besides the system."""
        return [*self.read_only, *self.writable, self.workspace]


def within(path: Path | str, folders: Iterable[Path]) -> bool:
    """Whether ``path`` is one of the ``folders`` or inside one."""
    return any(Path(path).is_relative_to(folder) for folder in folders)
