"""The rows of the result, and the table as text or Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

HEAD = ("benchmark", "unit", "bare", "bytes", "Hookline", "ratio", "CPU ratio", "wanted", "met")


@dataclass(frozen=True)
class Row:
    """One line of the table.

    ``bare`` is the reference (a bare SDK script, or ``python -c pass``), ``floor`` the request as
    ready bytes. ``judged`` is what the target is about: the ratio to ``bare``, or the value itself.
    ``limit`` is the largest good value, or the smallest where ``better`` is ``more``. ``samples``
    are all that was measured, by side, in seconds or in ``unit``.
    """

    name: str
    unit: str
    hookline: float
    bare: float | None = None
    floor: float | None = None
    cpu_ratio: float | None = None
    limit: float | None = None
    judged: Literal["ratio", "value"] = "ratio"
    better: Literal["less", "more"] = "less"
    samples: Mapping[str, Sequence[Mapping[str, float]]] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        """Hookline's value over the reference's."""
        return self.hookline / self.bare if self.bare else None

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None if there is none."""
        value = self.ratio if self.judged == "ratio" else self.hookline
        if self.limit is None or value is None:
            return None
        return value <= self.limit if self.better == "less" else value >= self.limit

    @property
    def wanted(self) -> str:
        """The target in words."""
        if self.limit is None:
            return ""
        sign = "≤" if self.better == "less" else "≥"
        what = " × bare" if self.judged == "ratio" else f" {self.unit}"
        return f"{sign} {self.limit:g}{what}"

    def to_json(self) -> dict[str, Any]:
        """Everything, for a file."""
        return asdict(self) | {"ratio": self.ratio, "met": self.met}

    def cells(self) -> tuple[str, ...]:
        """The row's texts, in the order of :data:`HEAD`."""
        numbers = (self.bare, self.floor, self.hookline, self.ratio, self.cpu_ratio)
        met = {True: "yes", False: "no", None: ""}[self.met]
        return (self.name, self.unit, *map(number, numbers), self.wanted, met)


def number(value: float | None) -> str:
    """Three significant digits; whole numbers from 100."""
    if value is None:
        return ""
    return f"{value:.0f}" if value >= 100 or value == 0 else f"{value:.3g}"


def markdown(rows: Iterable[Row]) -> str:
    """The table for the documentation."""
    lines = [HEAD, tuple("---" for _ in HEAD), *(row.cells() for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def columns(rows: Iterable[Row]) -> str:
    """The table for a terminal."""
    lines = [HEAD, *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEAD))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
