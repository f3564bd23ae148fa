"""Removes files that may not be read from a patch."""

from __future__ import annotations

import re
from collections.abc import Callable

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPED = re.compile(r"\\([0-7]{3}|.)")


def allowed_part(patch: str, allowed: Callable[[str], bool]) -> tuple[str, list[str]]:
    """Return the parts of ``patch`` about allowed files, and the names of the others.

    ``patch`` is what ``git diff`` and ``git log`` print with ``a/`` and ``b/`` before names and
    without renames. Commit messages are indented, so a line that begins with ``diff`` starts a
    file, and one that begins with ``commit`` ends it.
    """
    kept: list[str] = []
    left_out: dict[str, None] = {}
    keeping = True
    for line in patch.split("\n"):
        if line.startswith("diff --"):
            name = _name(line)
            # A header that cannot be read may be of any file.
            keeping = name is not None and allowed(name)
            if not keeping:
                left_out[name or line] = None
        elif line.startswith("commit "):
            keeping = True
        if keeping:
            kept.append(line)
    return "\n".join(kept), list(left_out)


def _name(header: str) -> str | None:
    """Return the name in ``diff --git a/NAME b/NAME`` or ``diff --cc NAME``; None if it is
    neither."""
    _, kind, names = header.split(" ", 2)
    if kind in ("--cc", "--combined"):
        return _unquoted(names)
    # Both names are equal, so the first ends at half of the length, whatever it contains.
    half = len(names) // 2
    before, after = _unquoted(names[:half]), _unquoted(names[half + 1 :])
    same = before[:2] == "a/" and after[:2] == "b/" and before[2:] == after[2:]
    return before[2:] if same else None


def _unquoted(name: str) -> str:
    if not (len(name) > 1 and name.startswith('"') and name.endswith('"')):
        return name
    return _ESCAPED.sub(lambda m: _ESCAPES.get(m[1]) or _literal(m[1]), name[1:-1])


def _literal(escaped: str) -> str:
    return chr(int(escaped, 8)) if len(escaped) == 3 else escaped
