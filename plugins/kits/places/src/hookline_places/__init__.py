"""What is known of places on a machine by their names: credentials, start-up and control files.

The guards, the plugin ``files`` and the judge of commands ask the same lists, which are data: the
YAML files under ``data``. A path is judged as text; no file is opened.
"""

from __future__ import annotations

import functools
import re
from typing import Any

from .changes import running_part
from .descent import enter, enter_or_make, folder_of, open_regular
from .received import ReceivedFiles
from .spelling import components, fold, globs, load
from .table import Known, Table

__all__ = [
    "Known",
    "ReceivedFiles",
    "Table",
    "caution",
    "changed",
    "components",
    "credentials",
    "enter",
    "enter_or_make",
    "fold",
    "folder_of",
    "later",
    "of_person",
    "open_regular",
]


def credentials() -> Table:
    """What is neither read nor written: keys, logins, histories, what runs at login."""
    return _table("credentials.yaml", copies=True)


def caution(path: str) -> Known | None:
    """Why a person should approve a write to ``path``: it runs by itself or instructs agents."""
    return _table("caution.yaml", copies=False).find(path)


def of_person(first: str) -> Known | None:
    """Why a write below ``first``, an entry of a person's home folder, should be approved.

    Whatever is hidden there is some program's: no list of them is complete.
    """
    name = fold(first)
    folders, projects = _person()
    if (name.startswith(".") or name in folders) and not projects.fullmatch(name):
        return Known(name, "is where programs of the person keep what they run and read")
    return None


def later(path: str) -> Known | None:
    """What makes ``path`` a file that somebody runs afterwards, such as a Makefile."""
    return _table("later.yaml", copies=False).find(path)


def changed(path: str, before: str, after: str) -> tuple[Known | None, bool]:
    """What of the change of a file's text will run, and whether it does so unasked.

    For files of which only parts run (``package.json``) a change elsewhere is None; for others
    this is `later`.
    """
    known = later(path)
    parts: dict[str, Any] = _later_parts()
    name = components(path)[-1]
    if known is None or name not in parts or known.name != name:
        return known, False
    kind, part = running_part(parts[name], name, before, after)
    if not kind:
        return None, False
    what = "runs when somebody installs the package" if kind == "at_once" else known.what
    return Known(part if part == name else f"{part} of {name}", what), kind == "at_once"


@functools.cache
def _table(name: str, *, copies: bool) -> Table:
    return Table(load(name), copies=copies)


@functools.cache
def _person() -> tuple[frozenset[str], re.Pattern[str]]:
    data = load("caution.yaml")["person"]
    return frozenset(data["folders"]), re.compile(globs(data["projects"]))


@functools.cache
def _later_parts() -> dict[str, Any]:
    found: dict[str, Any] = load("later.yaml")["parts"]
    return found
