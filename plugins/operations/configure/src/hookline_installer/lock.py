"""``plugins.lock`` in the home: the distributions that ``hookline plugins install`` has installed.

JSON with one entry for each distribution: spec, version, its plugins, and the folder of an editable
install. It is replaced atomically, with mode 0600; a file that cannot be read is never overwritten.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    field_validator,
)

FORMAT = 1
"""The version of the format; a file with a higher version is left alone."""
DIST_NAME = r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$"
PLUGIN_NAME = r"^[A-Za-z0-9][A-Za-z0-9_-]*$"
"""Names that can be keys under ``plugins:``; a dot would address a setting of another plugin."""


class LockDamaged(Exception):
    """``plugins.lock`` cannot be used; the message says why and what to do."""


class LockEntry(BaseModel):
    """One installed distribution.

    ``spec`` is what pip got, with absolute paths and no password; ``editable`` is the folder of an
    editable install; ``plugins`` is empty for a distribution that only has a provider or a store.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    dist: Annotated[str, StringConstraints(pattern=DIST_NAME)]
    version: Annotated[str, Field(min_length=1)]
    spec: Annotated[str, Field(min_length=1)]
    editable: str | None = None
    plugins: tuple[Annotated[str, StringConstraints(pattern=PLUGIN_NAME)], ...] = ()


class _LockContents(BaseModel):
    model_config = ConfigDict(extra="forbid")

    version: Literal[1]
    dists: list[LockEntry]

    @field_validator("dists")
    @classmethod
    def _check_unique(cls, entries: list[LockEntry]) -> list[LockEntry]:
        if len({entry.dist for entry in entries}) < len(entries):
            raise ValueError("a distribution is listed twice")
        return entries


@dataclass(frozen=True)
class LockFile:
    """``plugins.lock``; a missing file has no entries."""

    path: Path

    @classmethod
    def in_home(cls, home: Path) -> LockFile:
        """The lock file of a home."""
        return cls(home / "plugins.lock")

    def read(self) -> tuple[LockEntry, ...]:
        """The entries, by name. Raises LockDamaged."""
        if self.path.exists() and not self.path.is_file():  # reading a pipe may never end
            raise self._damaged("not a regular file")
        try:
            data = json.loads(self.path.read_text(encoding="utf-8"))
            newer = isinstance(data, dict) and _is_newer(data.get("version"))
            if not newer:
                return tuple(_LockContents.model_validate(data).dists)
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise LockDamaged(f"{self.path} cannot be read: {error.strerror}.") from None
        except ValidationError as error:
            raise self._damaged(_first(error)) from None
        except (ValueError, RecursionError) as error:
            raise self._damaged(str(error)) from None
        raise LockDamaged(
            f"{self.path} was written by a newer Hookline. Update hookline-configure."
        )

    def _damaged(self, why: str) -> LockDamaged:
        return LockDamaged(f"{self.path} is damaged ({why}). Repair it, or move it away.")

    def record(self, entries: Iterable[LockEntry]) -> None:
        """Add or replace entries. Raises LockDamaged, and OSError if it cannot be written."""
        kept = {entry.dist: entry for entry in self.read()}
        self._write(kept | {entry.dist: entry for entry in entries})

    def forget(self, names: Iterable[str]) -> None:
        """Remove the entries of these distributions, if any. Raises as :meth:`record`."""
        kept = {entry.dist: entry for entry in self.read()}
        removed = set(names)
        left = {name: entry for name, entry in kept.items() if name not in removed}
        if left != kept:
            self._write(left)

    def _write(self, entries: dict[str, LockEntry]) -> None:
        rows = [entries[name].model_dump(mode="json") for name in sorted(entries)]
        text = json.dumps({"version": FORMAT, "dists": rows}, indent=2, ensure_ascii=False) + "\n"
        target = self.path.resolve()
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=".plugins.lock.", dir=target.parent)  # 0600
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).replace(target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise


def _is_newer(version: object) -> bool:
    return isinstance(version, int) and version > FORMAT


def _first(error: ValidationError) -> str:
    """The first error and its location."""
    found = error.errors()[0]
    where = ".".join(str(part) for part in found["loc"])
    return f"{where}: {found['msg']}" if where else str(found["msg"])
