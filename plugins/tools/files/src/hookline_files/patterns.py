"""File patterns: ``*``, ``?``, ``[…]``, ``{a,b}`` within a name, ``**`` for any folders."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from pathlib import PurePath

from hookline_hookspecs import ToolError

BRACES = 100
"""Patterns that one pattern with braces may stand for."""

_CHOICE = re.compile(r"\{([^{}]*,[^{}]*)\}")
_MAGIC = re.compile(r"[*?\[{]")

ANY = None
"""Stands for ``**`` among the compiled parts."""
Parts = tuple["re.Pattern[str] | None", ...]


class FilePattern:
    """A compiled pattern over relative paths. ``hidden``: it names a file that starts with a dot.

    Raises:
        ToolError: the pattern is empty or stands for too many.
    """

    def __init__(self, pattern: str) -> None:
        if not pattern.strip():
            raise ToolError("the pattern is empty; give one like **/*.py")
        alternatives = [p.replace("\\", "/").split("/") for p in _expanded(pattern)]
        self._alternatives = [_compiled(names) for names in alternatives]
        self.hidden = any(
            name.startswith(".") and name not in (".", "..") for a in alternatives for name in a
        )

    def matches(self, path: PurePath) -> bool:
        """Whether the relative ``path`` fits."""
        return any(_fits(parts, path.parts) for parts in self._alternatives)


def anywhere(pattern: str) -> FilePattern:
    """A pattern that fits at any depth if it names no folder, as in ``*.py``."""
    return FilePattern(pattern if "/" in pattern else f"**/{pattern}" if pattern.strip() else "")


def split_base(pattern: str) -> tuple[str, str]:
    """The folders at the front of ``pattern`` that are plain names, and the rest.

    ``src/app/*.py`` gives ``("src/app", "*.py")``; the last name is never part of the base.
    """
    *folders, last = pattern.split("/")
    plain = 0
    while plain < len(folders) and not _MAGIC.search(folders[plain]):
        plain += 1
    base = "/".join(folders[:plain]) or ("/" if pattern.startswith("/") else "")
    return base, "/".join([*folders[plain:], last])


def _expanded(pattern: str) -> list[str]:
    found, waiting = [], [pattern]
    while waiting:
        current = waiting.pop()
        choice = _CHOICE.search(current)
        if choice is None:
            found.append(current)
        else:
            before, after = current[: choice.start()], current[choice.end() :]
            waiting += [before + option + after for option in choice[1].split(",")]
        if len(found) + len(waiting) > BRACES:
            raise ToolError(f"the braces of the pattern stand for more than {BRACES} patterns")
    return found


def _compiled(names: Sequence[str]) -> Parts:
    return tuple(
        ANY if name == "**" else re.compile(fnmatch.translate(name))
        for name in names
        if name not in ("", ".")
    )


def _fits(parts: Parts, names: Sequence[str]) -> bool:
    """Whether the names fit, going back to the latest ``**`` only, which is enough."""
    at = name = 0
    retry: tuple[int, int] | None = None
    while name < len(names):
        part = parts[at] if at < len(parts) else None
        if at < len(parts) and part is ANY:
            at += 1
            retry = (at, name)
        elif part is not None and part.match(names[name]):
            at += 1
            name += 1
        elif retry is not None:
            at, name = retry[0], retry[1] + 1
            retry = (at, name)
        else:
            return False
    return all(part is ANY for part in parts[at:])
