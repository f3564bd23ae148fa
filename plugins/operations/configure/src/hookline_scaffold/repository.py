"""The files of a new plugin's repository: made from templates, written whole or not at all."""

from __future__ import annotations

import string
from collections.abc import Mapping
from contextlib import ExitStack
from importlib.resources import files
from pathlib import Path

from .kinds import Kind
from .names import Names

LINE = 100
"""Characters in a line of the generated code at most, as its pyproject.toml says."""
FILES: Mapping[str, str] = {
    "pyproject.toml": "pyproject.toml",
    "README.md": "README.md",
    "LICENSE": "LICENSE",
    ".gitignore": "gitignore",
    ".github/workflows/ci.yml": "ci.yml",
    "src/%%{module}/__init__.py": "%%{kind}/plugin.py",
    "src/%%{module}/py.typed": "py.typed",
    "tests/test_plugin.py": "%%{kind}/test_plugin.py",
}
"""Path in the repository to the template, a file in ``templates`` whose name ends in ``.tmpl``."""


class _Template(string.Template):
    """``%%{name}``: ``$`` and single ``%`` mean something in the files that are made."""

    delimiter = "%%"


class NoPlace(Exception):
    """The repository cannot go where it should; the text is a sentence."""


def render(names: Names, kind: Kind, year: int) -> dict[str, str]:
    """The text of every file by its path in the repository."""
    values = {
        "name": names.plugin,
        "dist": names.dist,
        "module": names.module,
        "class": names.class_name,
        "tool": names.tool,
        "import_plugin": _import(names.module, names.class_name),
        "year": str(year),
        "kind": kind.name,
        "what": kind.what,
        "description": kind.description,
        "group": kind.group,
        "dependencies": ", ".join(f'"{one}"' for one in kind.dependencies),
        "start": kind.start.format(name=names.plugin),
    }
    intro, _, sections = _filled("%%{kind}/about.md", values).partition("\n\n## ")
    values |= {"intro": intro, "sections": f"## {sections.rstrip()}"}
    return {
        _Template(path).substitute(values): _filled(template, values)
        for path, template in FILES.items()
    }


def _filled(template: str, values: Mapping[str, str]) -> str:
    path = files(__package__) / "templates" / f"{_Template(template).substitute(values)}.tmpl"
    return _Template(path.read_text("utf-8")).substitute(values)


def write(folder: Path, texts: Mapping[str, str]) -> None:
    """Write ``texts`` into ``folder``, which must be empty or not there yet.

    Whatever stops it, what it has written is removed again. No file is ever replaced.

    Raises:
        NoPlace: there is a file, or a folder with something in it.
        OSError: it cannot be written.
    """
    if folder.is_dir():
        if any(folder.iterdir()):
            raise NoPlace(
                f"the folder {folder} is not empty, and nothing is written over; "
                f"choose one that is new or empty with --directory"
            )
    elif folder.exists() or folder.is_symlink():
        raise NoPlace(f"{folder} is there and is no folder; choose another with --directory")
    with ExitStack() as undo:
        for path, text in texts.items():
            target = folder / path
            _make_folders(target.parent, undo)
            with target.open("x", encoding="utf-8", newline="\n") as file:
                undo.callback(target.unlink)
                file.write(text)
        undo.pop_all()


def _make_folders(folder: Path, undo: ExitStack) -> None:
    if folder.is_dir():
        return
    _make_folders(folder.parent, undo)
    folder.mkdir()
    undo.callback(folder.rmdir)


def _import(module: str, name: str) -> str:
    """An import as a formatter writes it, broken where it is too long for a line."""
    line = f"from {module} import {name}"
    return line if len(line) <= LINE else f"from {module} import (\n    {name},\n)"
