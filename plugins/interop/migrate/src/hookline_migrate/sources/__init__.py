"""The programs that can be imported from, and the readers of their homes."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from ..source_folder import SourceFolder, Unreadable
from .base import MigrationSource, SourceOptions

__all__ = ["HOME_LOCATIONS", "PROGRAM_NAMES", "MigrationSource", "SourceOptions", "open_source"]

PROGRAM_NAMES = {
    "hermes": "Hermes Agent",
    "openclaw": "OpenClaw",
    "nanobot": "nanobot",
    "microclaw": "MicroClaw",
}
"""Display names of the programs."""
HOME_LOCATIONS = {
    "hermes": ("HERMES_HOME", "~/.hermes"),
    "openclaw": ("OPENCLAW_STATE_DIR", "~/.openclaw"),
    "nanobot": ("NANOBOT_HOME", "~/.nanobot"),
    "microclaw": ("MICROCLAW_DATA_DIR", "~/.microclaw"),
}
"""The environment variable with a program's home, and the default folder."""
_CLASSES = {
    "hermes": "Hermes",
    "openclaw": "OpenClaw",
    "nanobot": "Nanobot",
    "microclaw": "MicroClaw",
}


def open_source(name: str, root: Path, options: SourceOptions) -> MigrationSource:
    """Return the reader of a home. Raises ``Unreadable`` if ``root`` is not one of the program."""
    module = import_module(f"{__name__}.{name}")
    make: Callable[[SourceFolder, SourceOptions], MigrationSource] = getattr(module, _CLASSES[name])
    source = make(SourceFolder(root), options)
    if not any(source.folder.exists(one) for one in source.markers):
        raise Unreadable(
            f"{source.folder.root} is not a home of {PROGRAM_NAMES[name]}: it has none of "
            f"{', '.join(source.markers)}. Name the folder with --from DIR"
        )
    return source
