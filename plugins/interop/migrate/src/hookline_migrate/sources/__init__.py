"""The programs that can be left, each with the reader of its home."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from ..reading import Folder, Unreadable
from .base import Options, Source

__all__ = ["NAMES", "PLACES", "Options", "Source", "source_of"]

NAMES = {
    "hermes": "Hermes Agent",
    "openclaw": "OpenClaw",
    "nanobot": "nanobot",
    "microclaw": "MicroClaw",
}
"""What the programs are called."""
PLACES = {
    "hermes": ("HERMES_HOME", "~/.hermes"),
    "openclaw": ("OPENCLAW_STATE_DIR", "~/.openclaw"),
    "nanobot": ("NANOBOT_HOME", "~/.nanobot"),
    "microclaw": ("MICROCLAW_DATA_DIR", "~/.microclaw"),
}
"""The variable that names a program's home, and where it is without one."""
_CLASSES = {
    "hermes": "Hermes",
    "openclaw": "OpenClaw",
    "nanobot": "Nanobot",
    "microclaw": "MicroClaw",
}


def source_of(name: str, root: Path, options: Options) -> Source:
    """The reader of a home. Raises ``Unreadable`` if ``root`` is not the home of that program."""
    module = import_module(f"{__name__}.{name}")
    make: Callable[[Folder, Options], Source] = getattr(module, _CLASSES[name])
    source = make(Folder(root), options)
    if not any(source.folder.exists(one) for one in source.signs):
        raise Unreadable(
            f"{source.folder.root} is no home of {NAMES[name]}: it holds none of "
            f"{', '.join(source.signs)}; name the folder with --from DIR"
        )
    return source
