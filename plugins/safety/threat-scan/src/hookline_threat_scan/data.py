"""The data files of this package, read once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

import yaml

_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
"""libyaml's loader where there is one: 0.05 s for the vocabulary in place of 0.5 s."""


@cache
def load(name: str) -> Any:
    """The contents of a YAML file such as ``rules.yaml``. Words such as "no" stay words."""
    return yaml.load((files(__package__) / name).read_text("utf-8"), Loader=_LOADER)  # noqa: S506


def languages() -> list[dict[str, list[str]]]:
    """Phrases by concept of each of the files of ``languages``."""
    names = sorted(one.name for one in (files(__package__) / "languages").iterdir())
    return [load(f"languages/{name}") for name in names if name.endswith(".yaml")]


def compiled(pattern: str, parts: Mapping[str, str]) -> re.Pattern[str]:
    """An expression in which ``{name}`` stands for one of ``parts``; capitals do not matter."""
    for name, text in parts.items():
        pattern = pattern.replace("{" + name + "}", text)
    return re.compile(pattern, re.IGNORECASE)


class Patterns:
    """Expressions that are compiled when they are first gone through.

    All of them take 0.15 s to compile, and an ordinary text needs few: a group or a rule is only
    looked for where its words stand.
    """

    def __init__(self, sources: Sequence[str], parts: Mapping[str, str]) -> None:
        self._sources = tuple(sources)
        self._parts = parts

    def __bool__(self) -> bool:
        return bool(self._sources)

    def __iter__(self) -> Iterator[re.Pattern[str]]:
        return iter(self._compiled)

    @cached_property
    def _compiled(self) -> tuple[re.Pattern[str], ...]:
        return tuple(compiled(source, self._parts) for source in self._sources)


@cache
def expression(name: str) -> re.Pattern[str]:
    """An expression of ``expressions.yaml``."""
    return re.compile(load("expressions.yaml")[name])
