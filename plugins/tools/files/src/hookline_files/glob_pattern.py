"""File patterns: ``*``, ``?``, ``[…]``, ``{a,b}`` within a name, ``**`` for any folders."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from pathlib import Path, PurePath

from hookline_hookspecs import ToolError

MAX_BRACE_PATTERNS = 100
"""Patterns that the braces of one pattern may expand to."""

_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_MAGIC = re.compile(r"[*?\[{]")

ANY_FOLDERS = None
"""Stands for ``**`` among the compiled parts."""
PatternParts = tuple["re.Pattern[str] | None", ...]


class GlobPattern:
    """A compiled pattern for relative paths. ``hidden``: it names a file that starts with a dot.

    Raises:
        ToolError: the pattern is empty or its braces expand to too many.
    """

    def __init__(self, pattern: str) -> None:
        if not pattern.strip():
            raise ToolError("the pattern is empty; give one like **/*.py")
        alternatives = [p.replace("\\", "/").split("/") for p in _expand_braces(pattern)]
        self._alternatives = [_compile_parts(names) for names in alternatives]
        self.hidden = any(
            name.startswith(".") and name not in (".", "..") for a in alternatives for name in a
        )

    def matches(self, path: PurePath) -> bool:
        """Whether the relative ``path`` matches."""
        return any(_parts_match(parts, path.parts) for parts in self._alternatives)


def any_depth(pattern: str) -> GlobPattern:
    """A pattern that matches at any depth if it names no folder, as in ``*.py``."""
    return GlobPattern(pattern if "/" in pattern else f"**/{pattern}" if pattern.strip() else "")


def split_base(pattern: str, root: Path) -> tuple[str, str]:
    """The folders at the front of ``pattern`` that are plain names, and the rest.

    ``src/app/*.py`` gives ``("src/app", "*.py")``; the last name is never part of the base. A
    folder below ``root`` with brackets in its name, such as ``app/[id]``, counts as plain.
    """
    *folders, last = pattern.split("/")
    plain = 0
    while plain < len(folders) and (
        not _MAGIC.search(folders[plain])
        or ("[" in folders[plain] and root.joinpath(*folders[: plain + 1]).is_dir())
    ):
        plain += 1
    base = "/".join(folders[:plain]) or ("/" if pattern.startswith("/") else "")
    return base, "/".join([*folders[plain:], last])


def _expand_braces(pattern: str) -> list[str]:
    expanded: list[str] = []
    pending = [pattern]
    while pending:
        current = pending.pop()
        choice = _BRACES.search(current)
        if choice is None:
            expanded.append(current)
        else:
            before, after = current[: choice.start()], current[choice.end() :]
            pending += [before + option + after for option in choice[1].split(",")]
        if len(expanded) + len(pending) > MAX_BRACE_PATTERNS:
            raise ToolError(f"the pattern's braces expand to more than {MAX_BRACE_PATTERNS}")
    return expanded


def _compile_parts(names: Sequence[str]) -> PatternParts:
    return tuple(
        ANY_FOLDERS if name == "**" else _compile_name(name)
        for name in names
        if name not in ("", ".")
    )


def _compile_name(name: str) -> re.Pattern[str]:
    """The pattern of one name. Brackets may be literal too, as in the folder ``[id]``."""
    expression = fnmatch.translate(name)
    if "[" in name:
        expression += "|" + fnmatch.translate(name.replace("[", "[[]"))
    return re.compile(expression)


def _parts_match(parts: PatternParts, names: Sequence[str]) -> bool:
    """Whether the names match. Going back to the latest ``**`` is enough."""
    at = name = 0
    retry: tuple[int, int] | None = None
    while name < len(names):
        part = parts[at] if at < len(parts) else None
        if at < len(parts) and part is ANY_FOLDERS:
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
    return all(part is ANY_FOLDERS for part in parts[at:])
