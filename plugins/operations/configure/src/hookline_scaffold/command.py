"""Create a repository for a new plugin.

``hookline plugins new``.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Mapping
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal, NoReturn, TextIO, TypeAlias

import typer

from .kinds import KINDS, Kind
from .names import InvalidPluginName, PluginNames, derive_names
from .repository import UnusableFolder, render, write

FAILED, USAGE = 1, 2
"""Exit codes."""
WORKS_WHEN_OFF = True
KindName: TypeAlias = Literal["plugin", "tool", "guard", "channel", "provider", "store"]


def new(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="The plugin's name. For weather, the package is hookline-weather."
        ),
    ],
    directory: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="A new or empty folder. Default: ./hookline-NAME."),
    ] = None,
    kind: Annotated[KindName, typer.Option(help="The kind of plugin.")] = "plugin",
) -> None:
    """Create a repository for a new plugin, with code, tests, a README and CI."""
    try:
        names = derive_names(name)
        folder = _target_folder(names, directory)
        texts = render(names, KINDS[kind], date.today().year)
        _write(folder, texts)
    except (InvalidPluginName, UnusableFolder) as error:
        _stop(str(error), USAGE)
    _say(sys.stdout, _next_steps(names, KINDS[kind], folder, len(texts)))


def _target_folder(names: PluginNames, directory: str | None) -> Path:
    if directory is None:
        return Path(names.dist)
    if not directory.strip():
        raise UnusableFolder("--directory needs the name of a folder")
    try:
        return Path(directory).expanduser()
    except RuntimeError:
        raise UnusableFolder(f"--directory {directory}: unknown user") from None


def _write(folder: Path, texts: Mapping[str, str]) -> None:
    try:
        write(folder, texts)
    except OSError as error:
        where = error.filename or folder
        _stop(
            f"{where} could not be created: {error.strerror or error}. Nothing was left behind",
            FAILED,
        )


def _next_steps(names: PluginNames, kind: Kind, folder: Path, files: int) -> str:
    """A summary of what was created, and the next commands, as they work on this machine."""
    commands = [
        *([f"cd {shlex.quote(str(folder))}"] if folder.resolve() != Path.cwd() else []),
        _install_command(),
        f"{_python()} -m pytest",
        kind.start.format(name=names.plugin),
    ]
    made = f"Created {names.dist}: {files} files in {folder}. Next:"
    return "\n".join([made, "", *(f"  {command}" for command in commands), ""])


def _install_command() -> str:
    """The command that installs the plugin into the running Python, with pip or else uv."""
    if find_spec("pip") is None and shutil.which("uv"):
        return f"uv pip install --python {_python()} -e . --group dev"
    return f"{_python()} -m pip install -e . mypy pytest ruff"


def _python() -> str:
    """The running Python: ``python`` if a shell would find it under that name, else its path."""
    found = shutil.which("python")
    # Compare folders: the files are often links to one shared Python.
    is_same = found is not None and _folder_of(found) == _folder_of(sys.executable)
    return "python" if is_same else shlex.quote(sys.executable)


def _folder_of(program: str) -> Path:
    return Path(program).parent.resolve()


def _stop(text: str, code: int) -> NoReturn:
    _say(sys.stderr, f"hookline: {text}\n")
    raise SystemExit(code)


def _say(stream: TextIO, text: str) -> None:
    """Write a text; characters that the stream cannot encode become escapes."""
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
