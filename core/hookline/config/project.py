"""The settings of a project: ``.hookline/config.yaml`` in the workspace.

Somebody else may have written the file, so it counts only while the person trusts the folder with
exactly this content, and even then it can only set preferences and make Hookline stricter; which
keys that are is in ``project_keys.yaml``.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from hookline_hookspecs.errors import ConfigError
from hookline_hookspecs.folder_trust import FolderContent, FolderTrust
from hookline_hookspecs.setting_errors import Key

from .document import Document

PROJECT_FILE = Path(".hookline", "config.yaml")
MAX_PROJECT_FILE_BYTES = 100_000
KIND = "settings"
"""The kind of this content, for ``FolderTrust``."""
_TRUST = "Run `hookline trust` in the folder to read and trust it."


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """The file of a workspace: its settings by key, and sentences about it."""

    path: Path
    digest: str
    settings: Mapping[Key, Any]
    lines: Mapping[Key, int | str]
    problems: tuple[str, ...] = ()

    def content(self) -> FolderContent:
        """What the person trusts."""
        shown = [f"setting {'.'.join(key)}: {value}" for key, value in self.settings.items()]
        return FolderContent(KIND, self.digest, (*shown, *self.problems))

    def place(self, key: Key) -> str:
        """Where a key is set, for people."""
        return f"{self.path}:{self.lines.get(key, 1)}"


class ProjectContent:
    """Describes the settings of a folder to ``hookline trust`` (``FolderContentSource``).

    Args:
        home: Hookline's home; its own config.yaml is never a project's.
    """

    def __init__(self, home: Path) -> None:
        self._home = home

    def describe(self, folder: Path) -> FolderContent | None:
        """The folder's settings; None without a file."""
        found = read_project(folder, self._home)
        return None if found is None else found.content()


def read_project(workspace: Path, home: Path) -> ProjectFile | None:
    """Read the project's file of a workspace; None if it has none."""
    folder = workspace.expanduser().resolve()
    path = folder / PROJECT_FILE
    own = path.parent.resolve()
    if own == home.resolve() or folder == Path.home().resolve() or home.resolve() in own.parents:
        return None  # the person's own config
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return _unreadable(path, f"cannot be read: {error.strerror}")
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return _unreadable(path, "is not a file")
        data = file.read(MAX_PROJECT_FILE_BYTES + 1)
    if len(data) > MAX_PROJECT_FILE_BYTES:
        return _unreadable(path, f"is larger than {MAX_PROJECT_FILE_BYTES:,} bytes")
    digest = hashlib.sha256(data).hexdigest()
    try:
        document = Document(path, data.decode("utf-8-sig"))
    except (ConfigError, UnicodeDecodeError) as error:
        return ProjectFile(path, digest, {}, {}, (f"{error} The file is ignored.",))
    return ProjectFile(path, digest, dict(_flat(document.values, ())), document.lines)


def untrusted_reason(project: ProjectFile, trust: FolderTrust) -> str:
    """Why the file is not used, as a sentence; empty if it is trusted."""
    state = trust.state(project.path.parent.parent, project.content())
    if state == "untrusted":
        return f"{project.path} is not used, because the folder is not trusted. {_TRUST}"
    if state == "changed":
        return f"{project.path} is not used: it has changed since it was trusted. {_TRUST}"
    return ""


def apply_project(
    project: ProjectFile, document: Document, is_configured: Callable[[str], bool]
) -> list[str]:
    """Add a trusted project's settings to the person's ``document``; return warnings.

    ``is_configured`` tells whether a provider is.
    """
    warnings = list(project.problems)
    for key, value in project.settings.items():
        try:
            checked = _checked(key, value, document, is_configured)
            document.overlay(key, checked, project.place(key))
        except ValueError as refused:
            warnings.append(f"{project.place(key)}: {'.'.join(key)}: {refused}, so it is ignored.")
    return warnings


def _checked(
    key: Key, value: Any, document: Document, is_configured: Callable[[str], bool]
) -> object:
    """The value to use for a key. Raises ``ValueError``, which says why there is none."""
    name, keys = ".".join(key), _keys()
    if "$" in str(value) or "vault:" in str(value):
        raise ValueError("a project may not use variables or secrets")
    own = _value_at(document.values, key)
    if key[0] == "plugins" and len(key) == 2 and value is False and key[1] in keys["switched_off"]:
        return value
    if name in keys["preference"]:
        return value
    if name in keys["model"]:
        if not isinstance(value, str) or not is_configured(value.partition("/")[0]):
            raise ValueError("the model's provider is not configured here")
        return value
    only = keys["only"].get(name)
    if only is not None and type(value) is type(only) and value == only:
        return value
    if name in keys["lower"]:
        limit = own if isinstance(own, int) else keys["lower"][name]
        if type(value) is int and 0 < value <= limit:
            return value
        raise ValueError(f"a project may only lower it, below {limit}")
    if name in keys["added"] and isinstance(value, list):
        before = own if isinstance(own, list) else []
        return [*before, *(item for item in value if item not in before)]
    if name in keys["stricter"]:
        order = keys["stricter"][name]
        least = order.index(own) if own in order else 0
        if value in order[least:]:
            return value
        raise ValueError(f"a project may only make it stricter than {order[least]}")
    raise ValueError("a project may not set this")


@cache
def _keys() -> dict[str, Any]:
    text = files(__package__).joinpath("project_keys.yaml").read_bytes()
    found: dict[str, Any] = yaml.load(text, Loader=yaml.CSafeLoader)
    return found


def _flat(values: Mapping[str, Any], key: Key) -> list[tuple[Key, Any]]:
    """The settings of a mapping by whole key; lists stay whole."""
    found: list[tuple[Key, Any]] = []
    for name, value in values.items():
        inner = (*key, name)
        found += _flat(value, inner) if isinstance(value, dict) and value else [(inner, value)]
    return found


def _value_at(values: Any, key: Key) -> Any:
    for name in key:
        values = values.get(name) if isinstance(values, dict) else None
    return values


def _unreadable(path: Path, reason: str) -> ProjectFile:
    return ProjectFile(path, reason, {}, {}, (f"{path} {reason}, so it is ignored.",))
