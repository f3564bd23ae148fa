"""Errors about a path, in sentences that the model reads."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hookline_hookspecs import Paths, Refused, ToolError
from hookline_hookspecs.file_names import exact_name, shown_name

MAX_SUGGESTIONS = 5
"""Similar names that are suggested for a missing one."""
MAX_SCANNED_NAMES = 10_000
"""Entries of a folder that are searched for similar names."""


@contextmanager
def path_errors(action: str, path: str) -> Iterator[None]:
    """Turn errors of the system and of the path guard into the tool's.

    ``action`` is a verb (``read``), ``path`` what the model wrote.

    Raises:
        Refused: the guard refused the path.
        ToolError: the system reported an error.
    """
    try:
        yield
    except OSError as error:
        if error.strerror is None:  # The guard's own sentence names the path.
            raise Refused(str(error)) from error
        raise ToolError(f"cannot {action} {path}: {error.strerror}") from error
    except ValueError as error:
        raise ToolError(f"cannot {action} {path!r}: {error}") from error


def not_found_error(paths: Paths, real: Path, path: str) -> ToolError:
    """The error for a path that does not exist, with the nearest names in its folder."""
    folder = real.parent
    if not folder.is_dir():
        return ToolError(f"{path} does not exist, and neither does its folder {folder.name}/")
    similar = _similar_names(paths, folder, real.name)
    hint = f"; similar names: {', '.join(similar)}" if similar else "; list_dir shows what is there"
    return ToolError(f"{path} does not exist{hint}")


def _similar_names(paths: Paths, folder: Path, name: str) -> list[str]:
    names: dict[str, str] = {}
    try:
        for _, entry in zip(range(MAX_SCANNED_NAMES), folder.iterdir(), strict=False):
            names.setdefault(entry.name.lower(), entry.name)
    except OSError:
        return []
    found = difflib.get_close_matches(name.lower(), list(names), MAX_SUGGESTIONS, 0.5)
    similar = [names[key] for key in found if paths.check_path(str(folder / names[key])) is None]
    shown = [shown_name(other) for other in similar]
    return [
        exact_name(other) if shown.count(text) > 1 else text
        for other, text in zip(similar, shown, strict=True)
    ]
