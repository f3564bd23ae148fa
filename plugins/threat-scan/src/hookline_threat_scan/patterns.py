"""The regular expressions of ``phrases.yaml`` and ``commands.yaml``, with their parts put in."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TypeAlias

import yaml

Patterns: TypeAlias = Mapping[str, Sequence[re.Pattern[str]]]


@cache
def phrases() -> Patterns:
    """Sentences by rule; a blank matches any white space, ``_`` and ``-``."""
    return {
        rule: [re.compile(_blank(pattern)) for pattern in patterns]
        for rule, patterns in _read("phrases.yaml").items()
    }


@dataclass(frozen=True, slots=True)
class CommandGroup:
    """Commands of one rule, looked for near one of their ``words``, in any case."""

    rule: str
    words: tuple[str, ...]
    patterns: tuple[re.Pattern[str], ...]


@cache
def commands() -> tuple[CommandGroup, ...]:
    """The groups of ``commands.yaml``."""
    data = yaml.safe_load((files(__package__) / "commands.yaml").read_text("utf-8"))
    parts = {"fetch": data["fetch"], "shell": data["shell"]}
    return tuple(
        CommandGroup(
            group["rule"],
            tuple(group["words"]),
            tuple(re.compile(_filled(one, parts), re.IGNORECASE) for one in group["patterns"]),
        )
        for group in data["groups"]
    )


@cache
def phrase_words() -> frozenset[str]:
    """The words that the sentences are made of."""
    sources = " ".join(pattern.pattern for patterns in phrases().values() for pattern in patterns)
    return frozenset(re.findall(r"(?<![\\\w])[a-z]{2,}", sources))


def _read(name: str) -> dict[str, list[str]]:
    data = yaml.safe_load((files(__package__) / name).read_text("utf-8"))
    parts = {key: text for key, text in data.items() if isinstance(text, str)}
    return {
        rule: [_filled(pattern, parts) for pattern in patterns]
        for rule, patterns in data.items()
        if rule not in parts
    }


def _filled(pattern: str, parts: Mapping[str, str]) -> str:
    for name, text in parts.items():
        pattern = pattern.replace("{" + name + "}", text)
    return pattern


def _blank(pattern: str) -> str:
    """White space, ``_`` or ``-`` for each blank outside of a character class."""
    out, inside, escaped = [], False, False
    for char in pattern:
        if char == " " and not inside and not escaped:
            out.append(r"[\s_-]{1,4}")
        else:
            out.append(char)
        if not escaped:
            inside = (inside or char == "[") and char != "]"
        escaped = char == "\\" and not escaped
    return (
        "".join(out)
        .replace(r"[\s_-]{1,4}?", r"[\s_-]{0,4}")
        .replace(r"[\s_-]{1,4}{0,2}", r"\s{0,2}")
    )
