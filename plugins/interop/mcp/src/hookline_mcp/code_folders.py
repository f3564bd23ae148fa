"""What a server's command line names: the folders of its own code, and other files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

PROJECT_FILES = ("package.json", "pyproject.toml", "pyvenv.cfg", "go.mod", "Cargo.toml")
"""Files that mark the top folder of a project."""
MAX_PARENTS = 6
"""How many folders above a file are searched."""
_CODE = (
    *(".py", ".pyz", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jar", ".rb", ".pl", ".php"),
    *(".sh", ".lua", ".wasm", ".dll"),
)
"""Endings of files that interpreters run."""
_INTERPRETER = re.compile(
    r"(?:python|pypy|node|deno|bun|tsx|ts-node|ruby|perl|php|lua|bash|sh|java|dotnet)[\d.]*"
)


def server_code_folders(argv: Sequence[str]) -> Iterator[str]:
    """Yield the folder of the program and of each script that ``argv`` names by an absolute path.

    That is its ``node_modules``, else the top folder of its project, else the folder it is in;
    never the user's home or a folder above it.
    """
    for file in _code(argv):
        for path in dict.fromkeys([file, file.resolve()]):
            folder = _project_folder(path)
            if not _holds_home(folder):
                yield str(folder)


def named_files(argv: Sequence[str]) -> Iterator[str]:
    """Yield the files that ``argv`` names by an absolute path and that are not code, such as
    settings or a database. Folders are left out."""
    code = set(_code(argv))
    yield from (str(file) for file in _files(argv[1:]) if file not in code)


def _code(argv: Sequence[str]) -> Iterator[Path]:
    """Yield the program, every file with an ending of code, and what an interpreter runs."""
    yield from _files(argv[:1])
    yield from (file for file in _files(argv[1:]) if file.suffix.lower() in _CODE)
    if argv and _INTERPRETER.fullmatch(Path(argv[0]).name):
        operands = [word for word in argv[1:] if not word.startswith("-")]
        yield from _files(operands[:1])


def _files(words: Iterable[str]) -> Iterator[Path]:
    for word in words:
        file = Path(word)
        if file.is_absolute() and file.is_file():
            yield file


def _project_folder(file: Path) -> Path:
    parts = file.parts
    if "node_modules" in parts:
        return Path(*parts[: parts.index("node_modules") + 1])
    for folder in list(file.parents)[:MAX_PARENTS]:
        if any((folder / name).is_file() for name in PROJECT_FILES) and not _holds_home(folder):
            return folder
    return file.parent


def _holds_home(folder: Path) -> bool:
    return Path.home().is_relative_to(folder)
