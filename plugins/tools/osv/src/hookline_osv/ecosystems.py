"""Ecosystems and what a package and a version are called in each; the data is ecosystems.yaml."""

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

MOST_CHARS = 300
"""Characters of a package name; the longest real ones (Go, Maven) stay below it."""
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_!~-]{0,127}")
_NO_VERSION = frozenset({"latest", "newest", "current", "stable", "any", "next"})
_EXTRAS = re.compile(r"\[[^\]]*\]$")


@dataclass(frozen=True, slots=True)
class Ecosystem:
    """One ecosystem; the fields are those of the data file, ``key`` is OSV's name."""

    key: str
    name: re.Pattern[str]
    form: str
    fold: str
    version_prefix: str = ""

    def folded(self, package: str) -> str:
        """The spelling under which two names of one package are equal."""
        if self.fold == "pep503":
            return re.sub(r"[-_.]+", "-", package).lower()
        return package.lower() if self.fold == "lower" else package

    def package(self, text: str) -> str:
        """The name as the service takes it. Raises ``ToolError`` with the form that is right."""
        name = text.strip()
        if self.fold == "pep503":
            name = _EXTRAS.sub("", name)
        if len(name) > MOST_CHARS or not self.name.fullmatch(name):
            raise ToolError(
                f"{_shown(text)} is no {self.key} package name: it is {self.form}; a version is an "
                "argument of its own"
            )
        return self.folded(name)

    def version(self, text: str | None) -> str:
        """The version as the database writes it, empty for none. Raises ``ToolError``."""
        version = (text or "").strip()
        if not version:
            return ""
        if version.lower() in _NO_VERSION or not _VERSION.fullmatch(version):
            raise ToolError(
                f"{_shown(version)} is no exact version; write one such as 1.2.3 (no range, no "
                "tag), or leave it out to see everything known of the package"
            )
        bare = version.removeprefix(self.version_prefix)
        return bare if bare[:1].isdigit() else version


def find(text: str) -> Ecosystem:
    """The ecosystem that a person or a model means. Raises ``ToolError`` with the nearest."""
    known = _known()
    asked = text.strip().lower()
    found = known.get(asked)
    if found is not None:
        return found
    names = ", ".join(dict.fromkeys(one.key for one in known.values()))
    near = difflib.get_close_matches(asked, known, 1, cutoff=0.5)
    hint = f"did you mean {known[near[0]].key}? " if near else ""
    raise ToolError(f"{_shown(text)} is no ecosystem that OSV is asked for; {hint}Known: {names}")


@functools.cache
def _known() -> dict[str, Ecosystem]:
    """Every ecosystem by its name and its aliases, in lower case."""
    text = Path(__file__).with_name("ecosystems.yaml").read_text(encoding="utf-8")
    data: Mapping[str, Mapping[str, Any]] = yaml.load(text, Loader=yaml.CSafeLoader)
    found: dict[str, Ecosystem] = {}
    for key, row in data.items():
        one = Ecosystem(
            key,
            re.compile(row["name"], re.IGNORECASE | re.ASCII),
            row["form"],
            row["fold"],
            row.get("version_prefix", ""),
        )
        for name in (key.lower(), *row["aliases"]):
            if name in found:
                raise ValueError(f"ecosystems.yaml: {name!r} stands for two ecosystems")
            found[name] = one
    return found


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:79] + "…")
