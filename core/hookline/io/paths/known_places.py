"""Files that matter by their names: credentials, start-up files, control files of agents.

The lists are the YAML files under ``data``. A path is checked as text; no file is opened.
"""

from __future__ import annotations

import functools
import re
from typing import Any

from hookline_hookspecs import FileRisk

from .name_forms import components, fold, globs, load_data
from .running_parts import running_part
from .table import Known, Table


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


def change_risk(path: str, before: str, after: str) -> FileRisk | None:
    """What of a change to a file's text will run later; None if nothing does.

    Of files of which only parts run, such as ``package.json``, only a change of these counts.
    """
    known = later(path)
    parts: dict[str, Any] = _later_parts()
    name = components(path)[-1]
    if known is None:
        return None
    if name not in parts or known.name != name:
        return FileRisk(known.name, known.what)
    kind, part = running_part(parts[name], name, before, after)
    if not kind:
        return None
    what = "runs when somebody installs the package" if kind == "at_once" else known.what
    return FileRisk(part if part == name else f"{part} of {name}", what, kind == "at_once")


@functools.cache
def _table(name: str, *, copies: bool) -> Table:
    return Table(load_data(name), copies=copies)


@functools.cache
def _person() -> tuple[frozenset[str], re.Pattern[str]]:
    data = load_data("caution.yaml")["person"]
    return frozenset(data["folders"]), re.compile(globs(data["projects"]))


@functools.cache
def _later_parts() -> dict[str, Any]:
    found: dict[str, Any] = load_data("later.yaml")["parts"]
    return found
