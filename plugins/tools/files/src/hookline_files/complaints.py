"""What went wrong with a path, as a sentence for the model."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hookline_hookspecs import Paths, Refused, ToolError

NEAR = 5
"""Names that are offered in place of a missing one."""
LISTED = 10_000
"""Entries of a folder that are looked at for near names."""


@contextmanager
def told(action: str, path: str) -> Iterator[None]:
    """Word what the system or a guard says for the model.

    ``action`` is a verb (``read``), ``path`` what the model wrote.

    Raises:
        Refused: the guard said no, in its own words.
        ToolError: the system could not do it.
    """
    try:
        yield
    except OSError as error:
        if error.strerror is None:  # A guard's own sentence, which names the path.
            raise Refused(str(error)) from error
        raise ToolError(f"cannot {action} {path}: {error.strerror}") from error
    except ValueError as error:
        raise ToolError(f"cannot {action} {path!r}: {error}") from error


def missing(paths: Paths, real: Path, path: str) -> ToolError:
    """The error for a path that does not exist, with the nearest names in its folder."""
    folder = real.parent
    if not folder.is_dir():
        return ToolError(f"{path} does not exist, and neither does its folder {folder.name}/")
    near = _near(paths, folder, real.name)
    hint = f"; near it are: {', '.join(near)}" if near else "; list_dir shows what is there"
    return ToolError(f"{path} does not exist{hint}")


def _near(paths: Paths, folder: Path, name: str) -> list[str]:
    names: dict[str, str] = {}
    try:
        for _, entry in zip(range(LISTED), folder.iterdir(), strict=False):
            names.setdefault(entry.name.lower(), entry.name)
    except OSError:
        return []
    found = difflib.get_close_matches(name.lower(), list(names), NEAR, 0.5)
    return [names[key] for key in found if paths.judge(str(folder / names[key])) is None]
