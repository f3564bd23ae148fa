"""Findings: one for each flaw, from advisories of the OSV schema (ossf.github.io/osv-schema).

Several databases may describe one flaw under different ids and name each other as aliases; such
advisories are merged into one finding.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .ecosystems import Ecosystem
from .severity import Severity, mappings_in, severity_of

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,79}")
_PREFERRED = ("MAL-", "GHSA-", "RUSTSEC-", "GO-", "PYSEC-")
MAX_SUMMARY_CHARS = 160


@dataclass(frozen=True, slots=True)
class Finding:
    """One flaw. ``fixed`` are versions without it; else ``last`` are the last with it."""

    id: str
    aliases: tuple[str, ...]
    severity: Severity
    summary: str
    fixed: tuple[str, ...]
    last: tuple[str, ...]

    @property
    def malware(self) -> bool:
        """True if the package itself is the attack (ids ``MAL-…``)."""
        return any(name.startswith("MAL-") for name in (self.id, *self.aliases))

    def to_json(self) -> dict[str, Any]:
        """The finding as JSON, for programs."""
        return {
            "id": self.id,
            "aliases": list(self.aliases),
            "malware": self.malware,
            "severity": self.severity.level or None,
            "score": self.severity.score,
            "summary": self.summary,
            "fixed": list(self.fixed),
        }


def findings_from(
    advisories: Iterable[Mapping[str, Any]], ecosystem: Ecosystem, package: str
) -> list[Finding]:
    """The findings, malware first, then by severity; withdrawn advisories are left out."""
    valid = [
        advisory
        for advisory in advisories
        if _is_id(advisory.get("id")) and not advisory.get("withdrawn")
    ]
    found = [_finding(group, ecosystem, package) for group in _group_by_alias(valid)]
    return sorted(
        found, key=lambda finding: (not finding.malware, *finding.severity.order, finding.id)
    )


def _group_by_alias(advisories: Sequence[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """Advisories that share an id or an alias, directly or through others."""
    group_of: dict[str, list[Mapping[str, Any]]] = {}
    for advisory in advisories:
        names = (advisory["id"], *_aliases(advisory))
        merged = [advisory]
        for group in {id(g): g for name in names if (g := group_of.get(name)) is not None}.values():
            merged += group
        for member in merged:
            for name in (member["id"], *_aliases(member)):
                group_of[name] = merged
    yield from {id(group): group for group in group_of.values()}.values()


def _finding(group: list[Mapping[str, Any]], ecosystem: Ecosystem, package: str) -> Finding:
    group = sorted(group, key=lambda advisory: (_preference(advisory["id"]), advisory["id"]))
    first = group[0]
    names = dict.fromkeys(
        name for advisory in group for name in (advisory["id"], *_aliases(advisory))
    )
    names.pop(first["id"])
    events = [pair for advisory in group for pair in _events(advisory, ecosystem, package)]
    fixed = tuple(dict.fromkeys(version for kind, version in events if kind == "fixed"))
    last = tuple(dict.fromkeys(v for kind, v in events if kind == "last_affected"))
    return Finding(
        first["id"],
        tuple(sorted(names, key=lambda name: (not name.startswith("CVE-"), name))),
        min((severity_of(advisory) for advisory in group), key=lambda severity: severity.order),
        next(filter(None, map(_summary, group)), ""),
        fixed,
        () if fixed else last,
    )


def _preference(id_: str) -> int:
    return next((i for i, start in enumerate(_PREFERRED) if id_.startswith(start)), 99)


def _events(
    advisory: Mapping[str, Any], ecosystem: Ecosystem, package: str
) -> Iterator[tuple[str, str]]:
    """``(kind, version)`` of this package's ranges; commits of a GIT range are skipped."""
    for affected in mappings_in(advisory.get("affected")):
        named = affected.get("package")
        if not isinstance(named, Mapping):
            continue
        # A registry may follow: ``Maven:https://repo…``.
        if str(named.get("ecosystem")).partition(":")[0] != ecosystem.key:
            continue
        if ecosystem.normalize(str(named.get("name"))) != package:
            continue
        for part in mappings_in(affected.get("ranges")):
            if part.get("type") == "GIT":
                continue
            for event in mappings_in(part.get("events")):
                yield from ((str(k), v) for k, v in event.items() if _is_id(v))


def _aliases(advisory: Mapping[str, Any]) -> list[str]:
    aliases = advisory.get("aliases")
    return [alias for alias in aliases if _is_id(alias)] if isinstance(aliases, list) else []


def _summary(advisory: Mapping[str, Any]) -> str:
    """The summary as one line; the details if there is none."""
    for key in ("summary", "details"):
        text = advisory.get(key)
        line = " ".join(text.split()) if isinstance(text, str) else ""
        if line:
            return line if len(line) <= MAX_SUMMARY_CHARS else line[: MAX_SUMMARY_CHARS - 1] + "…"
    return ""


def _is_id(value: object) -> bool:
    return isinstance(value, str) and _ID.fullmatch(value) is not None
