"""Where a text came from, and what a tool call would do.

Phrases can be disguised; where a text came from cannot. Core sets the origins of every block that
enters a session, stores them with it, and keeps them through compaction, forks and sub-agents.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

OriginKind: TypeAlias = Literal["operator", "admin", "person", "workspace", "outside"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a text came from.

    ``kind``: ``operator`` (the terminal), ``admin`` or ``person`` (someone on a channel),
    ``workspace`` (the machine's own files and programs), ``outside`` (the web, and files and
    messages from elsewhere). ``source`` is shown to people: ``telegram:222``, a URL, a path, the
    name of a tool.
    """

    kind: OriginKind
    source: str = ""


EffectKind: TypeAlias = Literal[
    "read",
    "write",
    "delete",
    "network",
    "send",
    "pay",
    "book",
    "grant_access",
    "credential",
    "learn",
    "schedule",
    "configure",
    "execute",
    "unknown",
]


@dataclass(frozen=True, slots=True)
class Effect:
    """What a tool call may do; ``target`` is the path, URL, name or text that it affects.

    ``network`` only fetches; ``send`` sends data off the machine; ``pay`` moves money; ``book``
    reserves or orders; ``grant_access`` lets someone in; ``credential`` sets a password or key;
    ``learn`` is remembered after the session, or read later as
    the person's own; ``schedule`` runs later; ``configure`` changes what programs or agents do by
    themselves; ``execute`` runs code that cannot be examined.
    """

    kind: EffectKind
    target: str = ""


def merge_origins(*groups: Sequence[Origin]) -> tuple[Origin, ...]:
    """Return every origin once, in the order of first appearance."""
    return tuple(dict.fromkeys([origin for group in groups for origin in group]))


def origins_to_json(origins: Iterable[Origin]) -> list[list[str]]:
    """Return origins as ``[kind, source]`` pairs."""
    return [[origin.kind, origin.source] for origin in origins]


def origins_from_json(data: Iterable[Sequence[str]] | None) -> tuple[Origin, ...]:
    """Return the origins that :func:`origins_to_json` encoded."""
    return tuple([Origin(kind, source) for kind, source in data or ()])  # type: ignore[arg-type]
