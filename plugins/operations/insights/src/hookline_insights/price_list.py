"""Price lists and their YAML format. All errors are reported at once, with their lines."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Usage

if TYPE_CHECKING:
    from yaml import Node

MILLION = 1_000_000
MAX_LIST_CHARS = 1_000_000
"""Ten times the size of a list of all models on the market."""
MAX_DOLLARS = 100_000.0
_MODEL = re.compile(r"[^\s/]+/\S+")


@dataclass(frozen=True, slots=True)
class TokenRates:
    """US dollars for a million tokens of each kind.

    None means the same price as other input: ``cache_read`` and ``cache_write`` as ``input``,
    ``cache_write_1h`` (tokens cached for an hour) as ``cache_write``.
    """

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None
    cache_write_1h: float | None = None

    def cost(self, usage: Usage) -> float:
        """Return what ``usage`` costs, in dollars."""
        read = self.input if self.cache_read is None else self.cache_read
        write = self.input if self.cache_write is None else self.cache_write
        write_1h = write if self.cache_write_1h is None else self.cache_write_1h
        short = usage.cache_write - usage.cache_write_1h
        paid = usage.fresh * self.input + usage.cache_read * read + usage.output * self.output
        return (paid + short * write + usage.cache_write_1h * write_1h) / MILLION


RATE_NAMES = tuple(field.name for field in fields(TokenRates))
_KEYS = {"date", "free", "models"}
_MODEL_KEYS = {*RATE_NAMES, "long_prompt", "date", "source"}
_LONG_KEYS = {*RATE_NAMES, "above"}


@dataclass(frozen=True, slots=True)
class ModelPrice:
    """The price of one model.

    ``long`` are the rates of a request whose prompt has more than ``above`` tokens, for all of its
    tokens; None where length does not matter. ``date`` is the day that the price was read
    (``2026-10-24``), ``source`` where.
    """

    rates: TokenRates
    date: str
    source: str = ""
    above: int = 0
    long: TokenRates | None = None

    def cost(self, usage: Usage, prompt: int) -> float:
        """Return what ``usage`` costs, in dollars, of requests with ``prompt`` tokens of input."""
        rates = self.long if self.long is not None and prompt > self.above else self.rates
        return rates.cost(usage)


class InvalidPriceList(ValueError):
    """A price list is invalid; ``problems`` are messages with line numbers."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class PriceList:
    """A list of prices: the day it is from, the free providers, the prices by model."""

    date: str
    models: Mapping[str, ModelPrice] = field(default_factory=dict)
    free: frozenset[str] = frozenset()


def read_list(text: str, name: str) -> PriceList:
    """Read a list; ``name`` is its name in errors.

    Raises:
        InvalidPriceList: it is not a list of prices.
    """
    import yaml

    if len(text) > MAX_LIST_CHARS:
        raise InvalidPriceList([f"{name}: has more than {MAX_LIST_CHARS:,} characters"])
    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml, ten times as fast
        root = yaml.compose(text, Loader=loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark is not None else ""
        reason = getattr(error, "problem", None) or "this is not YAML"
        raise InvalidPriceList([f"{name}{line}: {reason}"]) from None
    except RecursionError:
        raise InvalidPriceList([f"{name}: is nested too deeply"]) from None
    reader = _PriceListReader(name)
    found = reader.read(root)
    if reader.problems or found is None:
        raise InvalidPriceList(reader.problems)
    return found


class _PriceListReader:
    """Walks the YAML nodes, which know their lines, and collects all problems."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.problems: list[str] = []

    def read(self, root: Node | None) -> PriceList | None:
        parts = self._mapping(root, "the list", _KEYS)
        if not parts.keys() >= {"date", "models"}:
            self._add_problem(root, "`date: YYYY-MM-DD` and `models:` are needed")
            return None
        day = self._date(parts["date"])
        free = parts.get("free")
        if free is not None and type(free.value) is not list:
            self._add_problem(free, "free: is not a list of providers")
            free = None
        models = {}
        for model, node in self._pairs(parts["models"], "models"):
            if not _MODEL.fullmatch(model):
                self._add_problem(node, f"{model}: is not written as provider/model")
            models[model] = self._price(node, model, day)
        names = (
            frozenset(str(node.value) for node in free.value) if free is not None else frozenset()
        )
        return PriceList(day, models, names)

    def _price(self, node: Node, model: str, day: str) -> ModelPrice:
        parts = self._mapping(node, model, _MODEL_KEYS)
        long = parts.get("long_prompt")
        rates = self._rates(node, model, parts)
        priced = self._date(parts["date"]) if "date" in parts else day
        source = str(parts["source"].value) if "source" in parts else ""
        if long is None:
            return ModelPrice(rates, priced, source)
        more = self._mapping(long, f"{model}: long_prompt", _LONG_KEYS)
        above = self._number(more.get("above"), long, f"{model}: above")
        rest = self._rates(long, f"{model}: long_prompt", more)
        return ModelPrice(rates, priced, source, int(above), rest)

    def _rates(self, node: Node, whose: str, parts: Mapping[str, Node]) -> TokenRates:
        for name in ("input", "output"):
            if name not in parts:
                self._add_problem(node, f"{whose}: {name} is missing")
        found = {
            name: self._number(parts[name], node, f"{whose}: {name}")
            for name in RATE_NAMES
            if name in parts
        }
        return TokenRates(**{"input": 0.0, "output": 0.0, **found})

    def _number(self, node: Node | None, above: Node, whose: str) -> float:
        try:
            number = float(str(node.value if node is not None else ""))
        except ValueError:
            number = math.nan
        # Rejects nan, which compares as false, and prices that were meant for a single token.
        if not 0 <= number <= (MAX_DOLLARS if not whose.endswith("above") else math.inf):
            self._add_problem(
                node or above, f"{whose} is not a number from 0 to {MAX_DOLLARS:,.0f}"
            )
            return 0.0
        return number

    def _date(self, node: Node) -> str:
        try:
            return date.fromisoformat(str(node.value)).isoformat()
        except ValueError:
            self._add_problem(node, "date: is not a day such as 2026-10-24")
            return ""

    def _mapping(self, node: Node | None, whose: str, known: set[str]) -> dict[str, Node]:
        parts = dict(self._pairs(node, whose))
        for key in parts.keys() - known:
            keys = ", ".join(sorted(known))
            self._add_problem(parts[key], f"{whose}: {key} is not a key; allowed are {keys}")
        return parts

    def _pairs(self, node: Node | None, whose: str) -> Iterator[tuple[str, Any]]:
        if node is None or getattr(node, "id", "") != "mapping":
            self._add_problem(node, f"{whose}: is not a mapping of keys and values")
            return
        seen = set()
        for key, value in node.value:
            name = str(key.value)
            if name in seen:
                self._add_problem(key, f"{name} is given twice")
            seen.add(name)
            yield name, value

    def _add_problem(self, node: Node | None, sentence: str) -> None:
        line = f", line {node.start_mark.line + 1}" if node is not None else ""
        self.problems.append(f"{self._name}{line}: {sentence}")
