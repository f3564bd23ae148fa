"""The data files of this package, read once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

import yaml

_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
"""libyaml's loader if available: it reads the vocabulary in 0.05 s instead of 0.5 s."""


@cache
def load_yaml(name: str) -> Any:
    """The content of a YAML file such as ``rules.yaml``; all scalars are strings, also "no"."""
    return yaml.load((files(__package__) / name).read_text("utf-8"), Loader=_LOADER)  # noqa: S506


def load_languages() -> list[dict[str, list[str]]]:
    """The phrases by concept of each file in ``languages``."""
    names = sorted(file.name for file in (files(__package__) / "languages").iterdir())
    return [load_yaml(f"languages/{name}") for name in names if name.endswith(".yaml")]


def compile_pattern(pattern: str, parts: Mapping[str, str]) -> re.Pattern[str]:
    """Compile an expression in which ``{name}`` is replaced by one of ``parts``, ignoring case."""
    for name, text in parts.items():
        pattern = pattern.replace("{" + name + "}", text)
    return re.compile(pattern, re.IGNORECASE)


class LazyPatterns:
    """Expressions that are compiled when they are first used.

    Compiling all of them takes 0.15 s, and an ordinary text needs few.
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
        return tuple(compile_pattern(source, self._parts) for source in self._sources)


@cache
def expression(name: str) -> re.Pattern[str]:
    """The expression of this name in ``expressions.yaml``."""
    return re.compile(load_yaml("expressions.yaml")[name])
