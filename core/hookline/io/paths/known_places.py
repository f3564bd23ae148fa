"""Recognises files by name: credentials, start-up files, control files of agents.

The lists are the YAML files in ``data``. A path is checked as text; no file is opened.
"""

from __future__ import annotations

import functools
import re
from typing import Any

from hookline_hookspecs import FileRisk

from .name_forms import components, fold, globs, load_data
from .place_table import KnownPlace, PlaceTable
from .running_parts import running_part


def credentials() -> PlaceTable:
    """Files that are neither read nor written: keys, logins, histories, login scripts."""
    return _table("credentials.yaml", copies=True)


def caution(path: str) -> KnownPlace | None:
    """Why a write to ``path`` needs approval, because it runs by itself or instructs agents."""
    return _table("caution.yaml", copies=False).find(path)


def protected(path: str) -> KnownPlace | None:
    """Why a program may make or change ``path`` only with approval, or None.

    These are the files of `caution`, except those that installers write, and the credentials that
    programs obey, such as ``.npmrc`` and ``authorized_keys``.
    """
    return _protected()[0].find(path) or _protected()[1].find(path)


def of_person(first: str) -> KnownPlace | None:
    """Why a write below ``first``, an entry of a person's home folder, needs approval.

    All hidden entries count, because no list of programs' folders is complete.
    """
    name = fold(first)
    folders, projects = _person()
    if (name.startswith(".") or name in folders) and not projects.fullmatch(name):
        return KnownPlace(name, "is where the person's programs keep what they run and read")
    return None


def later(path: str) -> KnownPlace | None:
    """Why ``path`` is a file that is run later, such as a Makefile, or None."""
    return _table("later.yaml", copies=False).find(path)


def change_risk(path: str, before: str, after: str) -> FileRisk | None:
    """The part of a change to a file's text that will run later; None if none does.

    In files of which only parts run, such as ``package.json``, only changes to those parts count.
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
    what = "runs when someone installs the package" if kind == "at_once" else known.what
    return FileRisk(part if part == name else f"{part} of {name}", what, kind == "at_once")


@functools.cache
def _table(name: str, *, copies: bool) -> PlaceTable:
    return PlaceTable(load_data(name), copies=copies)


@functools.cache
def _protected() -> tuple[PlaceTable, PlaceTable]:
    followed, stored = load_data("caution.yaml"), load_data("credentials.yaml")
    followed["groups"] = [group for group in followed["groups"] if not group.get("installed")]
    stored["groups"] = [group for group in stored["groups"] if group.get("obeyed")]
    return PlaceTable(followed, copies=False), PlaceTable(stored, copies=False)


@functools.cache
def _person() -> tuple[frozenset[str], re.Pattern[str]]:
    data = load_data("caution.yaml")["person"]
    return frozenset(data["folders"]), re.compile(globs(data["projects"]))


@functools.cache
def _later_parts() -> dict[str, Any]:
    found: dict[str, Any] = load_data("later.yaml")["parts"]
    return found
