"""Looks up paths by the names of their components. The analysis of a component is cached."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .name_forms import components, forms, globs, matches, short_name, without_copy_ending

MAX_CACHED_COMPONENTS = 16_384
"""Maximum number of components whose analysis a table caches."""


@dataclass(frozen=True, slots=True)
class KnownPlace:
    """A place that was recognised by its name.

    name: the recognised component or components, folded.
    what: completes a sentence that begins with the name: ``runs when …``.
    """

    name: str
    what: str


@dataclass(frozen=True, slots=True)
class _Run:
    """Globs for the components that must follow the first one, and what the place then is."""

    rest: tuple[str, ...]
    what: str


class PlaceTable:
    """The groups of one data file.

    copies: True if copies, such as ``.env.bak``, count like the original.
    """

    def __init__(self, data: dict[str, Any], *, copies: bool) -> None:
        self._copies = copies
        self._exceptions = frozenset(data.get("exceptions", ()))
        self._literal: dict[str, list[_Run]] = {}
        self._wild: list[tuple[str, _Run]] = []
        self._short: dict[str, str] = {}
        for group in data["groups"]:
            for path in group["paths"]:
                self._add(path, group["what"])
                if "/" not in path and (stem := short_name(path)):
                    self._short.setdefault(stem, group["what"])
        self._of = functools.lru_cache(MAX_CACHED_COMPONENTS)(self._analyse)

    def find(self, path: str) -> KnownPlace | None:
        """The first known component or components of ``path``; None if there are none."""
        return self.find_among(components(path))

    def find_among(self, parts: Sequence[str]) -> KnownPlace | None:
        """Like `find`, for a path that is already split and folded (`components`)."""
        for index, part in enumerate(parts):
            for run in self._of(part):
                following = parts[index + 1 : index + 1 + len(run.rest)]
                if _follows(run, following):
                    return KnownPlace("/".join((part, *following)), run.what)
        return None

    def _add(self, path: str, what: str) -> None:
        first, *others = path.split("/")
        run = _Run(tuple(others), what)
        if "*" in first or "?" in first:
            self._wild.append((first, run))
        else:
            self._literal.setdefault(first, []).append(run)

    def _analyse(self, part: str) -> tuple[_Run, ...]:
        """The runs that may start with this component; usually none."""
        if part in ("", ".", "..") or part in self._exceptions:
            return ()
        found: list[_Run] = []
        for form in self._forms(part):
            found += self._literal.get(form, ())
            found += (run for wild, run in self._wild if matches(wild, form))
            if "~" in form and (match := self._short_form.fullmatch(form)):
                found.append(_Run((), self._short[match[1]]))
        return tuple(sorted(set(found), key=lambda run: len(run.rest)))

    @functools.cached_property
    def _short_form(self) -> re.Pattern[str]:
        """Matches an 8.3 alias of one of the names; its first group is the start of the alias."""
        stems = globs(sorted(self._short, key=len, reverse=True))
        return re.compile(f"({stems})" + r"~[0-9]+(?:\.[^.]{0,3})?")

    def _forms(self, part: str) -> Iterable[str]:
        names = forms(part)
        if self._copies:
            names |= {without_copy_ending(name) for name in names}
        return sorted(names - {"", ".", ".."})


def _follows(run: _Run, parts: Sequence[str]) -> bool:
    if len(parts) < len(run.rest):
        return False
    return all(
        any(matches(glob, form) for form in {*forms(part), without_copy_ending(part)})
        for glob, part in zip(run.rest, parts, strict=False)
    )
