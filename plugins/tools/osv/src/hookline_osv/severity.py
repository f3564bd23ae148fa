"""The severity of an advisory: what its source says, else computed from its CVSS vector."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LEVELS = ("CRITICAL", "HIGH", "MEDIUM", "LOW", "NONE", "")
"""From the worst; the empty one is unknown (first.org, "Qualitative Severity Rating Scale")."""
_SYNONYMS = {"MODERATE": "MEDIUM", "IMPORTANT": "HIGH"}
_NEWEST_FIRST = ("CVSS_V4", "CVSS_V3", "CVSS_V2")


@dataclass(frozen=True, slots=True)
class Severity:
    """``level`` is one of :data:`LEVELS`, ``score`` that of CVSS from 0 to 10 or None, ``raw`` a
    vector that could not be computed."""

    level: str = ""
    score: float | None = None
    raw: str = ""

    @property
    def order(self) -> tuple[int, float]:
        """Sorts the worst first."""
        return LEVELS.index(self.level), -(self.score or 0.0)

    def __str__(self) -> str:
        if self.score is not None:
            return f"{self.level} {self.score:g}"
        return self.level or self.raw or "UNRATED"


def severity_of(advisory: Mapping[str, Any]) -> Severity:
    """The severity of an advisory of the OSV schema; vector and level may be in several places."""
    computed = _computed_severity(advisory)
    named = _named_level(advisory)
    if named and (computed.level == named or not computed.level):
        return Severity(named, computed.score)
    return Severity(named) if named else computed


def _named_level(advisory: Mapping[str, Any]) -> str:
    """The level that the source gives in words; empty if none."""
    for part in (advisory, *_affected(advisory)):
        for place in ("database_specific", "ecosystem_specific"):
            data = part.get(place)
            word = data.get("severity") if isinstance(data, Mapping) else None
            if isinstance(word, str):
                level = _SYNONYMS.get(word.upper(), word.upper())
                if level in LEVELS[:-1]:
                    return level
    return ""


def _computed_severity(advisory: Mapping[str, Any]) -> Severity:
    vectors: dict[str, str] = {}
    for part in (advisory, *_affected(advisory)):
        for row in mappings_in(part.get("severity")):
            kind, vector = row.get("type"), row.get("score")
            if isinstance(kind, str) and isinstance(vector, str):
                vectors.setdefault(kind, vector[:200])
    for kind in _NEWEST_FIRST:
        if kind in vectors:
            return _cvss_severity(kind, vectors[kind])
    return Severity(raw=next(iter(vectors.values()), ""))


def _cvss_severity(kind: str, vector: str) -> Severity:
    from cvss import CVSS2, CVSS3, CVSS4, CVSSError  # type: ignore[import-untyped]

    calculators = {"CVSS_V2": CVSS2, "CVSS_V3": CVSS3, "CVSS_V4": CVSS4}
    try:
        scored = calculators[kind](vector)
        score, level = float(scored.scores()[0]), str(scored.severities()[0]).upper()
    except (CVSSError, ValueError, ArithmeticError, LookupError):
        return Severity(raw=vector)
    return Severity(level if level in LEVELS else "", score)


def _affected(advisory: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from mappings_in(advisory.get("affected"))


def mappings_in(value: object) -> Iterator[Mapping[str, Any]]:
    """The mappings in a value that should be a list of mappings."""
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        yield from (row for row in value if isinstance(row, Mapping))
