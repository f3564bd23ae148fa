"""Estimates how many bytes a prefix needs for the tokens that a model caches."""

from __future__ import annotations

from dataclasses import dataclass, field

DEFAULT_RATIO = 0.25
"""Tokens per byte before the first response."""
FIRST_MARGIN, MARGIN = 0.9, 0.98
"""Share of the smallest cacheable prefix from which one is marked, before and after the first
response. A marker on a prefix that is too short costs nothing."""


@dataclass
class PrefixSizeEstimate:
    """Tokens per byte by model, for one session, corrected by the provider's counts."""

    ratios: dict[str, float] = field(default_factory=dict)

    def record(self, model: str, size: int, tokens: int) -> None:
        """Record that a request of ``size`` bytes had ``tokens``."""
        if size > 0 and tokens > 0:
            self.ratios[model] = tokens / size

    def min_bytes(self, model: str, tokens: int) -> float:
        """Return the bytes from which a prefix is likely to have ``tokens``."""
        ratio = self.ratios.get(model)
        return tokens * FIRST_MARGIN / DEFAULT_RATIO if ratio is None else tokens * MARGIN / ratio
