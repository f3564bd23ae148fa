"""What an update changes: capabilities and files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hookline_hookspecs.visible_text import on_one_line

MAX_FILES = 40
"""Files that are listed."""
MAX_PATH_CHARS = 200


def describe_changes(
    before: tuple[Sequence[str], Mapping[str, str]], after: tuple[Sequence[str], Mapping[str, str]]
) -> list[str]:
    """Return the changed capabilities, with ``+`` and ``-``, then the changed files.

    Each argument is the lines of :func:`.capabilities.describe`, and the hashes of the files.
    """
    old, new = before[0], after[0]
    lines = [f"- {line}" for line in old if line not in new]
    lines += [f"+ {line}" for line in new if line not in old]
    if not lines:
        lines = ["the same capabilities"]
    return lines + changed_files(before[1], after[1])


def changed_files(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Return one line for each file whose hash differs, at most :data:`MAX_FILES`."""
    files = [
        f"{'changed' if path in before else 'new'}: {path}"
        for path in after
        if before.get(path) != after[path]
    ]
    files += [f"removed: {path}" for path in before if path not in after]
    lines = [on_one_line(one, MAX_PATH_CHARS) for one in files[:MAX_FILES]]
    if len(files) > MAX_FILES:
        lines.append(f"… and {len(files) - MAX_FILES} more files")
    return lines
