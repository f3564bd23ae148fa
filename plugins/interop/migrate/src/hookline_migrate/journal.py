"""Records the outcome of each item in ``imports/SOURCE.jsonl`` of the home, one line per change.

Lines are only appended, so that a kill at any point loses nothing earlier; a cut last line is
ignored.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hookline_hookspecs import HooklineError
from hookline_hookspecs.importers import Item, Outcome


class MigrationRunning(HooklineError):
    """Another process imports from the same program."""


class MigrationJournal:
    """The newest line of each item.

    Args:
        home: Hookline's home.
        source: the other program's name.
    """

    def __init__(self, home: Path, source: str) -> None:
        self.folder = home / "imports"
        self._path = self.folder / f"{source}.jsonl"
        self.rows: dict[str, dict[str, Any]] = {}
        self._read()

    def _read(self) -> None:
        try:
            lines = self._path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return
        except OSError as error:
            raise HooklineError(f"cannot read {self._path}: {error.strerror}") from None
        for line in lines:
            try:
                row = json.loads(line)
                self._keep(row["id"], row)
            except (ValueError, KeyError, TypeError):
                continue  # a line cut by a kill

    def _keep(self, id_: str, row: dict[str, Any]) -> None:
        if row.get("state") == "undone":
            self.rows.pop(id_, None)
        else:
            self.rows[id_] = row

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Exclude other processes. Raises :class:`MigrationRunning`."""
        from filelock import FileLock, Timeout

        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = FileLock(self._path.with_suffix(".lock"), mode=0o600)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise MigrationRunning(
                "another `hookline migrate` of this source is running. Wait for it to finish"
            ) from None
        try:
            self.rows.clear()
            self._read()
            yield
        finally:
            lock.release()

    def begin(self, item: Item) -> None:
        """Record durably that an item is about to be imported, to recognize it after a kill."""
        row = {"id": item.id, "kind": item.kind, "source": item.source, "state": "begun"}
        self._write(row, durable=True)

    def end(self, item: Item, outcome: Outcome, version: str = "") -> None:
        """Record an item's outcome; ``version`` changes when the item changes at its source."""
        row = {
            "id": item.id,
            "kind": item.kind,
            "source": item.source,
            "state": outcome.state,
            "target": outcome.target,
            "reason": outcome.reason,
            "receipt": dict(outcome.receipt),
            "version": version,
        }
        self._write(row)

    def forget(self, id_: str) -> None:
        """Record that an item's import was undone."""
        self._write({"id": id_, "state": "undone"})

    def _write(self, row: dict[str, Any], *, durable: bool = False) -> None:
        data = json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        try:
            end = os.lseek(handle, 0, os.SEEK_END)
            if end and os.pread(handle, 1, end - 1) != b"\n":
                data = b"\n" + data  # the previous line was cut by a kill
            os.write(handle, data)
            if durable:
                os.fsync(handle)
        finally:
            os.close(handle)
        self._keep(row["id"], row)
