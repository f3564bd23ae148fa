"""``bundles/.removed.json``: what the catalogs have removed, which is no longer used."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from hookline_hookspecs import HooklineError
from hookline_hookspecs.visible_text import on_one_line

from .pins import Pin, write_private

FILE = ".removed.json"
MAX_REASON_CHARS = 200


@dataclass(frozen=True, slots=True)
class RemovedBundle:
    """A removed item: all content of a name that came from the catalog, or a certain content.

    ``sha256`` names content wherever it came from; without it, ``name`` counts for what was added
    from ``catalog``.
    """

    catalog: str
    name: str = ""
    sha256: str = ""
    reason: str = ""


class RemovedList:
    """The removed items of all catalogs, as they were last read."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._seen: tuple[int, int] | None = None
        self._items: list[RemovedBundle] = []

    def reason(self, name: str, pin: Pin) -> str | None:
        """Return why a bundle was removed; None if it was not."""
        for item in self._read():
            by_content = bool(item.sha256) and item.sha256 == pin.sha256
            by_name = not item.sha256 and item.name == name and item.catalog == pin.catalog
            if by_content or by_name:
                why = on_one_line(item.reason, MAX_REASON_CHARS) or "no reason given"
                return f"the catalog {item.catalog} removed it: {why}"
        return None

    def replace(self, catalog: str, items: Sequence[RemovedBundle]) -> None:
        """Store the removed items of a catalog. Raises ``HooklineError``.

        What a catalog has removed once stays so while the catalog is known.
        """
        known = {json.dumps(asdict(one), sort_keys=True): one for one in self._read()}
        known |= {json.dumps(asdict(one), sort_keys=True): one for one in items}
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            rows = [asdict(one) for one in known.values()]
            write_private(self._path, json.dumps({"version": 1, "removed": rows}, indent=1))
        except OSError as error:
            raise HooklineError(f"cannot write {self._path}: {error}") from None
        self._seen = None

    def stamp(self) -> tuple[int, int] | None:
        """Return what changes with the file; None without it."""
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_ino

    def _read(self) -> list[RemovedBundle]:
        seen = self.stamp()
        if seen != self._seen:
            try:
                data = json.loads(self._path.read_text("utf-8"))
                self._items = [RemovedBundle(**one) for one in data["removed"]]
            except FileNotFoundError:
                self._items = []
            except (OSError, ValueError, KeyError, TypeError) as error:
                raise HooklineError(
                    f"cannot read {self._path} ({error}). Move it away and run "
                    "`hookline bundles update`"
                ) from None
            self._seen = seen
        return self._items
