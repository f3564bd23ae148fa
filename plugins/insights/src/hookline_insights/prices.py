"""Prices of models' tokens in money, where they are known."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from .config import Price

_SNAPSHOT = re.compile(r"-(?:\d{8}|\d{4}-\d{2}-\d{2}|latest)$")
"""The date that vendors append to a model's name; the price is that of the model."""


class Prices:
    """The list in ``prices.toml``, overridden by the settings' ``own`` prices."""

    def __init__(self, own: Mapping[str, Price]) -> None:
        self._own = own

    @property
    def date(self) -> str:
        """The day of the list, such as ``2025-11-30``."""
        return str(_list()["date"])

    def money(self, model: str, input_cost: float, output: int) -> float | None:
        """Return what was paid, with ``input_cost`` in fresh tokens of input; None if the price is
        unknown."""
        price = self._price(model)
        if price is None:
            return None
        return (input_cost * price.input + output * price.output) / 1e6

    def _price(self, model: str) -> Price | None:
        name = model.rpartition("/")[2]
        for known in (model, name, _SNAPSHOT.sub("", name)):
            if known in self._own:
                return self._own[known]
            if known in _list()["models"]:
                fresh, output = _list()["models"][known]
                return Price(input=fresh, output=output)
        return None


@cache
def _list() -> Mapping[str, Mapping[str, tuple[float, float]]]:
    text = Path(__file__).with_name("prices.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
