"""Renders the files of a new plugin's repository from templates, and writes all or none of them."""

from __future__ import annotations

import string
from collections.abc import Mapping
from contextlib import ExitStack
from importlib.resources import files
from pathlib import Path

from .kinds import Kind
from .names import PluginNames

MAX_LINE_CHARS = 100
"""The line length of the generated code, as in its pyproject.toml."""
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
"""Templates by path in the repository; they are files in ``templates`` that end in ``.tmpl``."""


class _Template(string.Template):
    """Uses ``%%{name}``, because ``$`` and ``%`` have a meaning in the generated files."""

    delimiter = "%%"


class UnusableFolder(Exception):
    """The repository cannot be written to the folder; the message says why."""


def render(names: PluginNames, kind: Kind, year: int) -> dict[str, str]:
    """The text of every file, by path in the repository."""
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
        "dependencies": ", ".join(f'"{dependency}"' for dependency in kind.dependencies),
        "start": kind.start.format(name=names.plugin),
    }
    intro, _, sections = _fill("%%{kind}/about.md", values).partition("\n\n## ")
    values |= {"intro": intro, "sections": f"## {sections.rstrip()}"}
    return {
        _Template(path).substitute(values): _fill(template, values)
        for path, template in FILES.items()
    }


def _fill(template: str, values: Mapping[str, str]) -> str:
    path = files(__package__) / "templates" / f"{_Template(template).substitute(values)}.tmpl"
    return _Template(path.read_text("utf-8")).substitute(values)


def write(folder: Path, texts: Mapping[str, str]) -> None:
    """Write ``texts`` into ``folder``, which must be empty or missing.

    If it fails, it removes what it has written. It never replaces a file.

    Raises:
        UnusableFolder: there is a file, or a folder that is not empty.
        OSError: a file cannot be written.
    """
    if folder.is_dir():
        if any(folder.iterdir()):
            raise UnusableFolder(
                f"the folder {folder} is not empty; choose a new or empty one with --directory"
            )
    elif folder.exists() or folder.is_symlink():
        raise UnusableFolder(f"{folder} is not a folder; choose another with --directory")
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
    """An import as a formatter writes it, on several lines if it is too long."""
    line = f"from {module} import {name}"
    return line if len(line) <= MAX_LINE_CHARS else f"from {module} import (\n    {name},\n)"
