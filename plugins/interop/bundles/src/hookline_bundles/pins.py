"""``bundles/.lock.json``: what is installed, from where, and with which content."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock
from hookline_hookspecs import HooklineError

LOCK_FILE = ".lock.json"
VERSION = 1
LOCK_TIMEOUT = 10.0
"""Seconds to wait for another process that is writing."""


@dataclass(frozen=True, slots=True)
class Pin:
    """An installed bundle.

    Attributes:
        source: what it was added from, as written.
        revision: the commit of a git source.
        sha256: the hash of its content, see :mod:`.content_hash`.
        files: the hash of every file.
        installed: Unix time in seconds.
        catalog: the catalog that it came from; empty for none.
        entry: its entry in a ``marketplace.json``, which may name parts.
        only: the plugin of a source that holds several.
        guards: what its hooks may refuse, see :mod:`.standing_guards`.
    """

    source: str
    sha256: str
    files: Mapping[str, str]
    revision: str = ""
    installed: float = 0.0
    catalog: str = ""
    entry: Mapping[str, Any] = field(default_factory=dict)
    only: str = ""
    guards: Sequence[Sequence[str]] = ()


class Pins:
    """The lock file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._path = folder / LOCK_FILE

    def all(self) -> dict[str, Pin]:
        """Return every pin by the bundle's name. Raises ``HooklineError`` for a damaged file."""
        try:
            data = json.loads(self._path.read_text("utf-8"))
            if data["version"] != VERSION:
                raise ValueError(f"its version is {data['version']}")
            return {name: Pin(**one) for name, one in data["bundles"].items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise HooklineError(
                f"cannot read {self._path} ({error}). Move it away and add the bundles again"
            ) from None

    def stamp(self) -> tuple[int, int] | None:
        """Return what changes with the file; None without it."""
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_ino

    def put(self, name: str, pin: Pin) -> None:
        """Add or replace a pin. Raises ``HooklineError``."""
        self._change(name, pin)

    def remove(self, name: str) -> None:
        """Remove a pin, if it is there. Raises ``HooklineError``."""
        self._change(name, None)

    def _change(self, name: str, pin: Pin | None) -> None:
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with FileLock(self._path.with_name(".lock"), timeout=LOCK_TIMEOUT):
                pins = self.all()
                pins.pop(name, None)
                if pin is not None:
                    pins[name] = pin
                data = {
                    "version": VERSION,
                    "bundles": {key: asdict(one) for key, one in sorted(pins.items())},
                }
                write_private(self._path, json.dumps(data, ensure_ascii=False, indent=1))
        except (OSError, TimeoutError) as error:
            raise HooklineError(f"cannot write {self._path}: {error}") from None


def write_private(path: Path, text: str) -> None:
    """Write a file in one step, readable only by its owner. Raises ``OSError``."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.new")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)
    partial.replace(path)
