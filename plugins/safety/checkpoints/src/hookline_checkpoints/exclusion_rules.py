"""What a snapshot skips: folders that can be rebuilt, secrets, and ignored files.

The folder names are in ``excluded.yaml``; ``host.paths`` decides which names are secret, and git
which files the ``.gitignore`` files of the folder ignore.
"""

from __future__ import annotations

import fnmatch
import functools
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from .git import Git

CheckPath = Callable[[str], "str | None"]
"""Why a path may not be used, or None (``host.paths.check_path``)."""
_BATCH_CHARS = 3000
"""Characters of the paths that are checked together; a path has at most 4,096."""
_MISSING_FOLDER = "hookline-checkpoints-check"
"""A folder that does not exist, so that only the names below it are checked."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\\]")


@dataclass(frozen=True, slots=True)
class ExclusionRules:
    """Names of folders, as regular expressions over names in lower case.

    ``decided`` caches for each name whether ``always`` matches it, because a match takes 10 µs.
    """

    always: re.Pattern[str]
    beside: Mapping[str, re.Pattern[str]]
    holding: frozenset[str]
    keep: re.Pattern[str]
    decided: dict[str, bool]

    @classmethod
    def of(cls, exclude: Sequence[str], keep: Sequence[str]) -> ExclusionRules:
        """Return the packaged names and those of the config."""
        data = _data()
        return cls(
            _globs([*data["always"], *exclude]),
            {name: _globs(marks) for name, marks in data["beside"].items()},
            frozenset(data["holding"]),
            _globs(keep),
            {},
        )

    def folder(self, name: str, siblings: Collection[str]) -> bool:
        """Whether the folder ``name`` with these ``siblings`` is skipped."""
        folded = name.lower()
        always = self.decided.get(folded)
        if always is None:
            always = self.always.fullmatch(folded) is not None
            self.decided[folded] = always
        if always:
            return not self.keep.fullmatch(folded)
        marks = self.beside.get(folded)
        if marks is None or self.keep.fullmatch(folded):
            return False
        return any(marks.fullmatch(sibling.lower()) for sibling in siblings)

    def inside(self, name: str, entries: Iterable[str]) -> bool:
        """Whether a folder ``name`` with these ``entries`` is skipped."""
        if self.holding.isdisjoint(entries) and self.holding.isdisjoint(map(str.lower, entries)):
            return False
        return not self.keep.fullmatch(name.lower())


@functools.cache
def _data() -> dict[str, Any]:
    text = Path(__file__).with_name("excluded.yaml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = yaml.load(text, Loader=yaml.CSafeLoader)
    return loaded


def _globs(patterns: Iterable[str]) -> re.Pattern[str]:
    bodies = [fnmatch.translate(pattern.lower()) for pattern in patterns]
    return re.compile("|".join(bodies) or r"(?!)")


def secrets(check_path: CheckPath, folder: Path, paths: Sequence[str]) -> set[str]:
    """Return those of ``paths`` (relative, with ``/``) whose names are secret.

    Only names are checked: what a link leads to is not saved. Many paths are joined and checked as
    one, because a path is refused if any part of it is; a refused batch is checked in halves.
    """
    found: set[str] = set()
    base = f"{folder}/{_MISSING_FOLDER}"
    pending = list(_batches(paths))
    while pending:
        batch = pending.pop()
        if check_path("/".join((base, *map(_harmless, batch)))) is None:
            continue
        if len(batch) == 1:
            found.update(batch)
        else:
            half = len(batch) // 2
            pending += [batch[:half], batch[half:]]
    return found


def _harmless(path: str) -> str:
    """Return a path without the characters that are refused in any name."""
    parts = _CONTROL.sub("", path).split("/")
    return "/".join(part if part not in ("", ".", "..") else "_" for part in parts)


def _batches(paths: Sequence[str]) -> Iterable[Sequence[str]]:
    batch: list[str] = []
    chars = 0
    for path in paths:
        if batch and chars + len(path) > _BATCH_CHARS:
            yield batch
            batch, chars = [], 0
        batch.append(path)
        chars += len(path) + 1
    if batch:
        yield batch


async def ignored(git: Git, folder: Path, paths: Sequence[str]) -> set[str]:
    """Return those of ``paths`` that the ``.gitignore`` files at and below ``folder`` ignore.

    Raises ``GitFailed``.
    """
    # A leading ./ keeps a name that begins with a colon from being a pattern.
    data = b"".join(b"./" + os.fsencode(path) + b"\0" for path in paths)
    output = await git.run(
        *("check-ignore", "--no-index", "-z", "--stdin"), data=data, folder=folder, codes=(0, 1)
    )
    return {os.fsdecode(path[2:]) for path in output.split(b"\0") if path}


def is_skipped(path: str, skipped: Mapping[str, str] | Collection[str]) -> bool:
    """Whether ``path`` was skipped, as a file or a folder, or lies in a skipped folder."""
    bare = path.rstrip("/")
    paths = (bare, bare + "/", *(parent + "/" for parent in parents(bare)))
    return any(path in skipped for path in paths)


def parents(path: str) -> Iterable[str]:
    """Return the folders above ``path``, the topmost first."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[: n + 1]) for n in range(len(parts))]
