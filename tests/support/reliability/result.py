"""The result of a scenario: numbers, invariants and targets."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field


@dataclass(frozen=True)
class Row:
    """A number. ``wanted`` says what it is to be; ``ok`` is None where nothing is asked.

    ``target`` marks times and sizes, which depend on the machine.
    """

    name: str
    value: object
    wanted: str = ""
    ok: bool | None = None
    target: bool = False


@dataclass
class Result:
    """The outcome of a scenario."""

    scenario: str
    rows: list[Row] = field(default_factory=list)

    def note(self, name: str, value: object) -> None:
        """A number that is told, no more."""
        self.rows.append(Row(name, value))

    def must(self, name: str, value: object, wanted: object) -> None:
        """What has to be so on any machine."""
        self.rows.append(Row(name, value, str(wanted), value == wanted))

    def none(self, name: str, found: Sequence[object]) -> None:
        """There may be none of these; a few are shown."""
        few = ", ".join(map(str, list(found)[:5]))
        value = f"{len(found)} ({few})" if found else 0
        self.rows.append(Row(name, value, "0", not found))

    def aim(self, name: str, value: float, most: float, unit: str) -> None:
        """A time or a size with a target."""
        shown = f"{value:.3g} {unit}" if abs(value) < 100 else f"{value:.0f} {unit}"
        self.rows.append(Row(name, shown, f"≤ {most:g} {unit}", value <= most, True))

    def broken(self, targets: bool = False) -> list[Row]:
        """Rows that are not as they must be; missed targets only if asked for."""
        return [row for row in self.rows if row.ok is False and (targets or not row.target)]

    def table(self) -> str:
        """For a person."""
        wide = max(len(row.name) for row in self.rows)
        lines = [f"{self.scenario}"]
        for row in self.rows:
            mark = {None: " ", True: "✓", False: "✗"}[row.ok]
            wanted = f"   (wanted {row.wanted})" if row.wanted else ""
            lines.append(f"  {mark} {row.name:<{wide}}  {row.value}{wanted}")
        return "\n".join(lines)

    def line(self) -> str:
        """For a program: JSON in one line."""
        return json.dumps(asdict(self), ensure_ascii=False, default=str)


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which this share lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
