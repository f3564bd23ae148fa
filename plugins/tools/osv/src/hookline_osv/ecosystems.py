"""Ecosystems and the names of packages and versions in each; the data is ecosystems.yaml."""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from hookline_hookspecs import ToolError

MAX_NAME_CHARS = 300
"""Characters of a package name; the longest real ones (Go, Maven) stay below it."""
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_!~-]{0,127}")
_NO_VERSION = frozenset({"latest", "newest", "current", "stable", "any", "next"})
_EXTRAS = re.compile(r"\[[^\]]*\]$")


@dataclass(frozen=True, slots=True)
class Ecosystem:
    """One ecosystem, with the fields of the data file. ``key`` is OSV's name."""

    key: str
    name: re.Pattern[str]
    form: str
    fold: str
    version_prefix: str = ""

    def normalize(self, package: str) -> str:
        """The spelling under which two names of one package are equal."""
        if self.fold == "pep503":
            return re.sub(r"[-_.]+", "-", package).lower()
        return package.lower() if self.fold == "lower" else package

    def package(self, text: str) -> str:
        """The name as OSV spells it. Raises ``ToolError``, which describes the right form."""
        name = text.strip()
        if self.fold == "pep503":
            name = _EXTRAS.sub("", name)
        if len(name) > MAX_NAME_CHARS or not self.name.fullmatch(name):
            raise ToolError(
                f"{_quoted(text)} is not a {self.key} package name: it is {self.form}; the version "
                "is a separate argument"
            )
        return self.normalize(name)

    def version(self, text: str | None) -> str:
        """The version as OSV spells it; empty for none. Raises ``ToolError`` if it is not exact."""
        version = (text or "").strip()
        if not version:
            return ""
        if version.lower() in _NO_VERSION or not _VERSION.fullmatch(version):
            raise ToolError(
                f"{_quoted(version)} is not an exact version; write one such as 1.2.3 (no range, "
                "no tag), or leave it out to see all versions"
            )
        bare = version.removeprefix(self.version_prefix)
        return bare if bare[:1].isdigit() else version


def find_ecosystem(text: str) -> Ecosystem:
    """The ecosystem of this name or alias. Raises ``ToolError``, which suggests the nearest."""
    known = _ecosystems_by_name()
    name = text.strip().lower()
    found = known.get(name)
    if found is not None:
        return found
    keys = ", ".join(dict.fromkeys(ecosystem.key for ecosystem in known.values()))
    near = difflib.get_close_matches(name, known, 1, cutoff=0.5)
    hint = f"did you mean {known[near[0]].key}? " if near else ""
    raise ToolError(f"{_quoted(text)} is not a known ecosystem; {hint}Known: {keys}")


@functools.cache
def _ecosystems_by_name() -> dict[str, Ecosystem]:
    """Every ecosystem by its name and its aliases, in lower case."""
    text = Path(__file__).with_name("ecosystems.yaml").read_text(encoding="utf-8")
    data: Mapping[str, Mapping[str, Any]] = yaml.load(text, Loader=yaml.CSafeLoader)
    by_name: dict[str, Ecosystem] = {}
    for key, row in data.items():
        ecosystem = Ecosystem(
            key,
            re.compile(row["name"], re.IGNORECASE | re.ASCII),
            row["form"],
            row["fold"],
            row.get("version_prefix", ""),
        )
        for name in (key.lower(), *row["aliases"]):
            if name in by_name:
                raise ValueError(f"ecosystems.yaml: {name!r} names two ecosystems")
            by_name[name] = ecosystem
    return by_name


def _quoted(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:79] + "…")
