"""Finds the price of a model: the settings' own first, then the home's list, then the packaged."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from hookline_hookspecs import Host, Usage

from .price import Price, formatted
from .reading import BadPrices, PriceList, read_list

NAME = "prices.yaml"
"""The file of the home, which ``hookline prices update`` writes."""
FREE = "free (local)"
_SNAPSHOT = re.compile(r"-(?:\d{8}|\d{4}-\d{2}-\d{2}|latest)$")
"""The date that vendors append to a model's name; the price is that of the model."""


@cache
def packaged() -> PriceList:
    """Return the list that comes with this version of Hookline."""
    path = Path(__file__).with_name(NAME)
    return read_list(path.read_text(encoding="utf-8"), NAME)


class Prices:
    """What tokens cost. Made once by a plugin; a list that changes meanwhile is read again.

    Args:
        home: Hookline's home, whose ``prices.yaml`` goes before the packaged list; None for the
            packaged list alone.
        own: prices by model that go before both lists.
        sign: stands before an amount of money.
    """

    def __init__(
        self, home: Path | None = None, own: Mapping[str, Price] | None = None, sign: str = "$"
    ) -> None:
        self._path = home / NAME if home is not None else None
        self._own = own or {}
        self._sign = sign
        self._read: tuple[int, PriceList | None] = (0, None)
        self._found: tuple[list[PriceList], dict[str, Price | None]] = ([], {})

    @classmethod
    def of(cls, host: Host) -> Prices:
        """Return the prices that plugin ``insights`` offers, with its settings, or those of the
        home."""
        return host.services.get(cls) or cls(host.home)

    def cost(self, model: str, usage: Usage, prompt: int | None = None) -> float | None:
        """Return what ``usage`` of a model costs, in US dollars; None if its price is unknown.

        ``model`` is ``provider/model``. Some models cost more where the prompt is long, so pass the
        usage of one request, or of several with the length of their prompts in ``prompt``::

            prices = Prices.of(host)
            spent = prices.cost(response.model, response.usage)  # 0.0031, 0.0 for a local server
            shown = prices.formatted(spent)  # "$0.0031", or "unknown"

        """
        if self.free(model):
            return 0.0
        price = self.price(model)
        return price.cost(usage, usage.input if prompt is None else prompt) if price else None

    def saved(self, model: str, usage: Usage, prompt: int | None = None) -> float | None:
        """Return what the provider's cache saved of it, in dollars; negative if it cost more."""
        plain = replace(usage, cache_read=0, cache_write=0, cache_write_1h=0)
        without, paid = self.cost(model, plain, prompt), self.cost(model, usage, prompt)
        return None if without is None or paid is None else without - paid

    def formatted(self, money: float | None) -> str:
        """Return an amount as people read it."""
        return formatted(money, self._sign)

    def told(self, model: str, usage: Usage, prompt: int | None = None) -> str:
        """Return the cost in words: ``$0.0031``, ``free (local)`` or ``unknown``."""
        return FREE if self.free(model) else self.formatted(self.cost(model, usage, prompt))

    def free(self, model: str) -> bool:
        """Return whether a model runs on a machine of one's own, such as ``ollama/qwen3:8b``."""
        provider = model.partition("/")[0]
        return model not in self._own and any(provider in one.free for one in self._lists())

    def price(self, model: str) -> Price | None:
        """Return the price of ``provider/model``, or None.

        A dated name is looked for without its date, and a provider that is in no list (a proxy, a
        company's gateway) by the bare name of the model.
        """
        lists = self._lists()
        if [id(one) for one in lists] != [id(one) for one in self._found[0]]:
            self._found = (lists, {})
        found = self._found[1]
        if model not in found:
            found[model] = self._look_up(model, lists)
        return found[model]

    def _look_up(self, model: str, lists: list[PriceList]) -> Price | None:
        provider, _, name = model.partition("/")
        plain = _SNAPSHOT.sub("", model)
        known: list[Mapping[str, Price]] = [self._own, *(one.models for one in lists)]
        names = [model, plain, name, _SNAPSHOT.sub("", name)]
        for models, key in ((models, key) for models in known for key in names):
            if key in models:
                return models[key]
        if any(provider == one.partition("/")[0] for models in known for one in models):
            return None
        return next(_elsewhere(name, lists), None)

    def date(self, *models: str) -> str:
        """Return the day that the oldest price of these models is from; without any, the list's.

        Empty if all prices of these models are the settings' own.
        """
        known = [price.date for model in models if (price := self.price(model))]
        dated = [day for day in known if day]
        return min(dated) if dated else "" if known else self._lists()[0].date

    def all(self) -> dict[str, Price]:
        """Return every known price by model."""
        found: dict[str, Price] = {}
        for one in reversed(self._lists()):
            found |= one.models
        return {**found, **self._own}

    def _lists(self) -> list[PriceList]:
        home = self._of_home()
        return [home, packaged()] if home is not None else [packaged()]

    def _of_home(self) -> PriceList | None:
        """The home's list; None if there is none or it cannot be used, which ``doctor`` tells."""
        if self._path is None:
            return None
        try:
            changed = self._path.stat().st_mtime_ns
            if not self._path.is_file():  # reading a pipe may never end
                self._read = (changed, None)
            elif changed != self._read[0]:
                self._read = (changed, read_list(self._path.read_text("utf-8"), NAME))
        except FileNotFoundError:
            self._read = (0, None)
        except (OSError, BadPrices, UnicodeDecodeError):
            self._read = (changed, None)
        return self._read[1]


def _elsewhere(name: str, lists: list[PriceList]) -> Iterator[Price]:
    """The prices of a model of this name at other providers; none if they differ."""
    names = {name.rpartition("/")[2], _SNAPSHOT.sub("", name.rpartition("/")[2])}
    found = {
        price.rates: price
        for one in reversed(lists)
        for model, price in one.models.items()
        if model.rpartition("/")[2] in names
    }
    if len(found) == 1:
        yield from found.values()
