"""``plugins.lock`` in the home: what ``hookline plugins install`` has installed.

JSON, sorted, one entry a dist: spec, version, the plugins it brought, and the folder of an editable
one. Written whole or not at all, mode 0600; what cannot be read is never overwritten.
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
"""The version of the format; a file with a higher one is left alone."""
DIST_NAME = r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$"
PLUGIN_NAME = r"^[A-Za-z0-9][A-Za-z0-9_-]*$"
"""What can be a key under ``plugins:``; a dot would mean a setting of another plugin."""


class LockDamaged(Exception):
    """``plugins.lock`` cannot be used; the text says why and what to do."""


class Entry(BaseModel):
    """One installed dist.

    ``spec`` is what pip took, paths absolute and without a password; ``editable`` is the folder of
    an editable install; ``plugins`` is empty for a dist that brings a provider or a store.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    dist: Annotated[str, StringConstraints(pattern=DIST_NAME)]
    version: Annotated[str, Field(min_length=1)]
    spec: Annotated[str, Field(min_length=1)]
    editable: str | None = None
    plugins: tuple[Annotated[str, StringConstraints(pattern=PLUGIN_NAME)], ...] = ()


class _Format(BaseModel):
    model_config = ConfigDict(extra="forbid")

    version: Literal[1]
    dists: list[Entry]

    @field_validator("dists")
    @classmethod
    def _once(cls, entries: list[Entry]) -> list[Entry]:
        if len({entry.dist for entry in entries}) < len(entries):
            raise ValueError("a dist stands there twice")
        return entries


@dataclass(frozen=True)
class LockFile:
    """The file; a missing one has no entries."""

    path: Path

    @classmethod
    def of(cls, home: Path) -> LockFile:
        """The one of a home."""
        return cls(home / "plugins.lock")

    def read(self) -> tuple[Entry, ...]:
        """The entries, by name. Raises LockDamaged."""
        if self.path.exists() and not self.path.is_file():  # reading a pipe may never end
            raise self._damaged("it is no file")
        try:
            data = json.loads(self.path.read_text(encoding="utf-8"))
            newer = isinstance(data, dict) and _is_newer(data.get("version"))
            if not newer:
                return tuple(_Format.model_validate(data).dists)
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise LockDamaged(f"{self.path} cannot be read: {error.strerror}.") from None
        except ValidationError as error:
            raise self._damaged(_first(error)) from None
        except (ValueError, RecursionError) as error:
            raise self._damaged(str(error)) from None
        raise LockDamaged(
            f"{self.path} was written by a newer Hookline; update hookline-configure."
        )

    def _damaged(self, why: str) -> LockDamaged:
        return LockDamaged(f"{self.path} is damaged ({why}); mend it, or move it away.")

    def record(self, entries: Iterable[Entry]) -> None:
        """Add or replace entries. Raises LockDamaged, and OSError if it cannot be written."""
        kept = {entry.dist: entry for entry in self.read()}
        self._write(kept | {entry.dist: entry for entry in entries})

    def forget(self, names: Iterable[str]) -> None:
        """Remove the entries of these dists, if there. Raises as :meth:`record`."""
        kept = {entry.dist: entry for entry in self.read()}
        going = set(names)
        left = {name: entry for name, entry in kept.items() if name not in going}
        if left != kept:
            self._write(left)

    def _write(self, entries: dict[str, Entry]) -> None:
        rows = [entries[name].model_dump(mode="json") for name in sorted(entries)]
        text = json.dumps({"version": FORMAT, "dists": rows}, indent=2, ensure_ascii=False) + "\n"
        target = self.path.resolve()
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, fresh = tempfile.mkstemp(prefix=".plugins.lock.", dir=target.parent)  # mode 0600
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            Path(fresh).replace(target)
        except BaseException:
            Path(fresh).unlink(missing_ok=True)
            raise


def _is_newer(version: object) -> bool:
    return isinstance(version, int) and version > FORMAT


def _first(error: ValidationError) -> str:
    """The first thing that is wrong, and where."""
    found = error.errors()[0]
    where = ".".join(str(part) for part in found["loc"])
    return f"{where}: {found['msg']}" if where else str(found["msg"])
