"""What a run would cost on a real model: its token counts times a small, dated price table."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from .record import Record

MILLION = 1_000_000


@dataclass(frozen=True)
class Cost:
    """US dollars for one model, with what its cache saves at best and without any cache."""

    model: str
    cached: float
    uncached: float


@dataclass(frozen=True)
class Estimate:
    """Costs by model, and the day (ISO) of the prices."""

    as_of: str
    costs: tuple[Cost, ...]


def estimate(record: Record) -> Estimate:
    """The costs of a run on the models of ``prices.yaml``."""
    import yaml

    table = yaml.safe_load((files(__package__) / "prices.yaml").read_text("utf-8"))
    return Estimate(str(table["as_of"]), tuple(_cost(record, row) for row in table["models"]))


def _cost(record: Record, row: dict[str, Any]) -> Cost:
    tokens, read = record.usage("input"), record.usage("cache_read")
    output = record.usage("output") * row["output"]
    cached = (tokens - read) * row["input"] + read * row["cached_input"] + output
    uncached = tokens * row["input"] + output
    return Cost(str(row["name"]), cached / MILLION, uncached / MILLION)
