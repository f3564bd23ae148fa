"""Estimates tokens from bytes, corrected by the provider's counts."""

from __future__ import annotations

from dataclasses import dataclass, field

GUESS = 0.25
"""Tokens a byte before the first answer: four characters make a token."""
DOUBT, TRUST = 0.9, 0.98
"""The share of the smallest prefix from which one is marked, before and after the first answer: a
marker too early costs nothing, one too late a prefix."""


@dataclass
class Estimate:
    """Tokens a byte by model, for one session."""

    ratios: dict[str, float] = field(default_factory=dict)

    def counted(self, model: str, size: int, tokens: int) -> None:
        """Record that a request of ``size`` bytes was counted as ``tokens``."""
        if size > 0 and tokens > 0:
            self.ratios[model] = tokens / size

    def size(self, model: str, tokens: int) -> float:
        """Return the bytes from which a prefix is likely to have ``tokens``."""
        ratio = self.ratios.get(model)
        return tokens * DOUBT / GUESS if ratio is None else tokens * TRUST / ratio
