"""Plugins that are a single file: ``plugins/*.py`` in the home, and ``hookline --plugin FILE``."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

FOLDER = "plugins"
VARIABLE = "HOOKLINE_PLUGIN_FILES"
"""The environment variable with the files of ``--plugin``, for this process and its children."""
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def add_plugin_file(path: str) -> None:
    """Use a plugin file in this process and its children. Raises ``ValueError``."""
    file = Path(path).expanduser().absolute()
    if not file.is_file():
        raise ValueError(f"there is no file {path}")
    if not is_plugin_file(file):
        raise ValueError(f"{file.name} is not a plugin file; name it like my_plugin.py")
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = f"{before}{os.pathsep}{file}" if before else str(file)


def files_in_home(home: Path) -> dict[str, Path]:
    """The plugin files of a home, by the plugin's name. Those that begin with ``_`` are modules."""
    try:
        found = sorted((home / FOLDER).glob("*.py"))
    except OSError:  # unreadable
        return {}
    return {plugin_name(file): file for file in found if is_plugin_file(file)}


def files_from_command_line(env: Mapping[str, str]) -> dict[str, Path]:
    """The files of ``--plugin``, by the plugin's name."""
    paths = [Path(text) for text in env.get(VARIABLE, "").split(os.pathsep) if text]
    return {plugin_name(path): path for path in paths}


def plugin_name(file: Path) -> str:
    """``my-plugin`` for ``my_plugin.py`` and for ``hookline_my_plugin.py``."""
    return file.stem.removeprefix("hookline_").replace("_", "-")


def is_plugin_file(file: Path) -> bool:
    """Return True if the file's name can be a plugin's."""
    return file.suffix == ".py" and _NAME.fullmatch(plugin_name(file)) is not None
