"""Finds the price of a model: in the settings, the home's list, the packaged list or a library.

The lists are dated overrides of the library ``genai-prices``, which knows 2,000 more models.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from hookline_hookspecs import Usage, Watched
from hookline_hookspecs.prices import Prices

from .library_prices import library_cost, library_version
from .price_list import ModelPrice, PriceList, read_list

PRICE_FILE = "prices.yaml"
"""The file in the home that ``hookline prices update`` writes."""
_SNAPSHOT = re.compile(r"-(?:\d{8}|\d{4}-\d{2}-\d{2}|latest)$")
"""The date that vendors append to a model's name; it does not affect the price."""


@cache
def packaged_list() -> PriceList:
    """Return the list in this package."""
    path = Path(__file__).with_name(PRICE_FILE)
    return read_list(path.read_text(encoding="utf-8"), PRICE_FILE)


class ModelPrices(Prices):
    """The service ``Prices``.

    Args:
        home_list: the home's ``prices.yaml``, which overrides the packaged list; None for the
            packaged list alone.
        own: prices by model that override both lists.
        sign: the sign before an amount of money.
    """

    def __init__(
        self,
        home_list: Watched[PriceList | None] | None = None,
        own: Mapping[str, ModelPrice] | None = None,
        sign: str = "$",
    ) -> None:
        self.sign = sign
        self._home_list = home_list
        self._own = own or {}
        self._found: tuple[list[PriceList], dict[str, ModelPrice | None]] = ([], {})

    def cost(self, model: str, usage: Usage, prompt: int | None = None) -> float | None:
        """See :class:`Prices`."""
        if self.is_free(model):
            return 0.0
        length = usage.input if prompt is None else prompt
        price = self.price(model)
        return price.cost(usage, length) if price else library_cost(model, usage, length)

    def saved(self, model: str, usage: Usage, prompt: int | None = None) -> float | None:
        """See :class:`Prices`."""
        plain = replace(usage, cache_read=0, cache_write=0, cache_write_1h=0)
        without, paid = self.cost(model, plain, prompt), self.cost(model, usage, prompt)
        return None if without is None or paid is None else without - paid

    def is_free(self, model: str) -> bool:
        """See :class:`Prices`."""
        provider = model.partition("/")[0]
        return model not in self._own and any(
            provider in price_list.free for price_list in self._lists()
        )

    def as_of(self, *models: str) -> str:
        """See :class:`Prices`. Without models, the day of the list."""
        if not models:
            return self._lists()[0].date
        listed = {model: self.price(model) for model in models if not self.is_free(model)}
        days = {price.date for price in listed.values() if price is not None and price.date}
        library = {library_version(model) for model, price in listed.items() if price is None}
        sources = [min(days)] if days else []
        return " and ".join([*sources, *filter(None, sorted(library))])

    def price(self, model: str) -> ModelPrice | None:
        """Return the price of ``provider/model`` in the settings or a list, or None.

        The date in a model's name is ignored. A provider that is in no list (a proxy, a
        company's gateway) has the price of the model of this name elsewhere.
        """
        lists = self._lists()
        if [id(price_list) for price_list in lists] != [
            id(price_list) for price_list in self._found[0]
        ]:
            self._found = (lists, {})
        found = self._found[1]
        if model not in found:
            found[model] = self._look_up(model, lists)
        return found[model]

    def _look_up(self, model: str, lists: list[PriceList]) -> ModelPrice | None:
        provider, _, name = model.partition("/")
        plain = _SNAPSHOT.sub("", model)
        known: list[Mapping[str, ModelPrice]] = [
            self._own,
            *(price_list.models for price_list in lists),
        ]
        names = [model, plain, name, _SNAPSHOT.sub("", name)]
        for models, key in ((models, key) for models in known for key in names):
            if key in models:
                return models[key]
        if any(provider == listed.partition("/")[0] for models in known for listed in models):
            return None
        return next(_elsewhere(name, lists), None)

    def models(self) -> Sequence[str]:
        """See :class:`Prices`."""
        return list(self.all())

    def all(self) -> dict[str, ModelPrice]:
        """Return every price of the settings and the lists by model."""
        found: dict[str, ModelPrice] = {}
        for price_list in reversed(self._lists()):
            found |= price_list.models
        return {**found, **self._own}

    def _lists(self) -> list[PriceList]:
        home = self._home_list.value if self._home_list is not None else None
        return [home, packaged_list()] if home is not None else [packaged_list()]


def _elsewhere(name: str, lists: list[PriceList]) -> Iterator[ModelPrice]:
    """The price of a model of this name at other providers, unless their prices differ."""
    names = {name.rpartition("/")[2], _SNAPSHOT.sub("", name.rpartition("/")[2])}
    found = {
        price.rates: price
        for price_list in reversed(lists)
        for model, price in price_list.models.items()
        if model.rpartition("/")[2] in names
    }
    if len(found) == 1:
        yield from found.values()
