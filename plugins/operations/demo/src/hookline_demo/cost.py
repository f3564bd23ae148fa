"""Estimates the cost of a run on real models, from its tokens and a small, dated price table."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from .run_record import RunRecord

MILLION = 1_000_000


@dataclass(frozen=True)
class ModelCost:
    """The cost on one model in US dollars, with the best use of its cache and without a cache."""

    model: str
    cached: float
    uncached: float


@dataclass(frozen=True)
class CostEstimate:
    """The costs by model, and the date of the prices (ISO 8601)."""

    as_of: str
    costs: tuple[ModelCost, ...]


def estimate(record: RunRecord) -> CostEstimate:
    """The costs of a run on the models in ``prices.yaml``."""
    import yaml

    table = yaml.safe_load((files(__package__) / "prices.yaml").read_text("utf-8"))
    return CostEstimate(str(table["as_of"]), tuple(_cost(record, row) for row in table["models"]))


def _cost(record: RunRecord, row: dict[str, Any]) -> ModelCost:
    tokens, read = record.usage("input"), record.usage("cache_read")
    output = record.usage("output") * row["output"]
    cached = (tokens - read) * row["input"] + read * row["cached_input"] + output
    uncached = tokens * row["input"] + output
    return ModelCost(str(row["name"]), cached / MILLION, uncached / MILLION)
