"""Chat with a plugin while you write its code.

``hookline dev PATH``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated

import typer
from hookline_hookspecs import CommandError
from hookline_hookspecs.cli import command_line

from .development import NAME_VARIABLE, PATH_VARIABLE

GROUP = "hookline.plugins"
WORKS_WHEN_OFF = True


def dev(
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="A plugin's folder, or a plugin in one file.")
    ],
    model: Annotated[
        str | None, typer.Option(metavar="PROVIDER/MODEL", help="Use this model.")
    ] = None,
) -> None:
    """Chat with a plugin that you are writing.

    Before each message, the plugin is reloaded if its code has changed.
    """
    path = path.expanduser().resolve()
    if path.suffix == ".py":
        name = path.stem.removeprefix("hookline_").replace("_", "-")
        before = ["--plugin", str(path)]
    else:
        name, before = _installed_plugin(path), []
    env = os.environ | {NAME_VARIABLE: name, PATH_VARIABLE: str(path)}
    env["HOOKLINE_HOME"] = str(command_line().home)
    if not before:
        env[f"HOOKLINE_PLUGINS__{name.replace('-', '_').upper()}__ENABLED"] = "true"
    after = ["--model", model] if model else []
    command = [sys.executable, "-P", "-m", "hookline", *before, "chat", *after]
    raise SystemExit(subprocess.run(command, env=env, check=False).returncode)


def _installed_plugin(folder: Path) -> str:
    """The name of the plugin in a folder with a ``pyproject.toml``. Raises ``CommandError``."""
    try:
        project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))
        names = list(project["project"]["entry-points"][GROUP])
    except FileNotFoundError:
        raise CommandError(
            f"{folder} has no pyproject.toml. Name a plugin's folder, or a plugin in one file."
        ) from None
    except (OSError, ValueError, LookupError, TypeError):
        raise CommandError(f"{folder / 'pyproject.toml'} names no plugin in {GROUP}.") from None
    if not entry_points(group=GROUP, name=names[0]):
        raise CommandError(
            f"{names[0]} is not installed. Run `hookline plugins install -e {folder}` first."
        )
    return str(names[0])
