"""The rules that come with the plugin, from ``data/rules.yaml``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from .rules import KINDS, PACKAGED, Kind, Rule, parse_rule

_OPTIONS = ("why", "restorable", "reads", "once", "trait")


@dataclass(frozen=True, slots=True)
class PackagedRule:
    """A rule with examples of commands that it matches, and of others."""

    rule: Rule
    match: tuple[str, ...]
    not_match: tuple[str, ...]


@cache
def packaged_rules() -> tuple[PackagedRule, ...]:
    """Every packaged rule that denies, asks or allows, in order."""
    return tuple(_packaged(kind, entry) for kind in KINDS for entry in _table()[kind])


@cache
def outside_rules() -> tuple[PackagedRule, ...]:
    """The rules about commands that do not work in the sandbox."""
    return tuple(_packaged("ask", entry) for entry in _table()["outside"])


@cache
def _table() -> Mapping[str, Sequence[Mapping[str, Any]]]:
    import yaml

    text = files(__package__).joinpath("data", "rules.yaml").read_text("utf-8")
    loaded: Mapping[str, Sequence[Mapping[str, Any]]] = yaml.load(text, yaml.CSafeLoader)
    return loaded


def _packaged(kind: Kind, entry: Mapping[str, Any]) -> PackagedRule:
    unless = tuple(_rule(kind, text) for text in entry.get("unless", ()))
    options = {key: entry[key] for key in _OPTIONS if key in entry}
    reads_from = tuple(entry.get("reads_from", ()))
    rule = _rule(kind, entry["rule"], unless=unless, reads_from=reads_from, **options)
    return PackagedRule(rule, tuple(entry.get("match", ())), tuple(entry.get("not_match", ())))


def _rule(kind: Kind, pattern: str, **options: object) -> Rule:
    return parse_rule(kind, f"bash({pattern})", PACKAGED, **options)
