"""The usage of a period of days, from core's journal and other plugins' tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any

from hookline_hookspecs import Storage, StoreError, Usage
from hookline_hookspecs.prices import Prices
from hookline_hookspecs.sentences import N_
from hookline_hookspecs.storage import Row

DEFAULT_DAYS = 7
MAX_DAYS = 3650
QUARTER_SECONDS = 900
"""Seconds of the SQL's periods; every local day begins at a multiple of it."""
TOKEN_KINDS = ("input", "cache_read", "cache_write", "cache_write_1h", "output", "reasoning")
SUMMED_FIELDS = ("requests", *TOKEN_KINDS, "input_cost", "fresh")


class InvalidDays(ValueError):
    """An invalid number of days; the message is for the person."""


@dataclass(frozen=True, slots=True)
class UsageReport:
    """The usage of a period. ``chat`` is channel and chat id, None for all chats. ``since`` and
    ``until`` are Unix time in seconds. ``totals`` and each of ``models`` hold ``requests input
    cache_read cache_write cache_write_1h fresh output reasoning`` (tokens), ``input_cost`` (in
    fresh tokens of input), ``money`` and ``saved`` by the provider's cache (US dollars, None if a
    price is unknown; in the totals, the sums of the known ones). A model also has ``free``, true
    for one on the operator's own machine. ``prices_date`` is the date of the oldest price.
    ``by_day`` are tokens by local day. ``learnt`` has only the numbers that an enabled plugin
    records.
    """

    days: int
    since: float
    until: float
    chat: tuple[str, str] | None
    totals: Mapping[str, Any]
    models: Sequence[Mapping[str, Any]]
    by_day: Mapping[str, int]
    tools: Sequence[Mapping[str, Any]]
    turns: Mapping[str, Mapping[str, int]]
    channels: Sequence[Mapping[str, Any]]
    learnt: Mapping[str, Any]
    prices_date: str = ""


def parse_days(text: str | int | None) -> int:
    """Parse a number of days; an empty text gives :data:`DEFAULT_DAYS`.

    Raises:
        InvalidDays: it is not a whole number from 1 to :data:`MAX_DAYS`.
    """
    words = str(text if text is not None else "").strip()
    if not words:
        return DEFAULT_DAYS
    if not (words.isascii() and words.isdigit() and len(words) < 9):
        raise InvalidDays(_bad(words))
    if not 1 <= (days := int(words)) <= MAX_DAYS:
        raise InvalidDays(_bad(words))
    return days


def first_moment(days: int, now: float) -> float:
    """Return midnight of the first of ``days`` days, the last being that of ``now``."""
    first = datetime.fromtimestamp(now).date() - timedelta(days=days - 1)
    return datetime.combine(first, time.min).timestamp()


def _bad(words: str) -> str:
    return N_(f"{words[:40]!r} is not a number of days; use a whole number from 1 to {MAX_DAYS}")


async def report(
    storage: Storage, days: int, now: float, chat: tuple[str, str] | None, prices: Prices
) -> UsageReport:
    """Return the usage of the last ``days`` days up to ``now``, today included, from midnight
    on."""
    since = first_moment(days, now)
    first = datetime.fromtimestamp(since).date()
    channel, chat_id = chat or (None, None)
    where = {"since": since, "channel": channel, "chat_id": chat_id}
    models = _models(await storage.fetch("models", **where), prices)
    return UsageReport(
        days,
        since,
        now,
        chat,
        _totals(models),
        models,
        _by_day(await storage.fetch("quarters", **where), first, days),
        [dict(row) for row in await storage.fetch("tools", **where)],
        _turns(await storage.fetch("turns", **where)),
        [dict(row) for row in await storage.fetch("channels", **where)],
        await _learnt(storage, where),
        prices.as_of(*(model["model"] for model in models)),
    )


def _models(rows: Sequence[Row], prices: Prices) -> list[dict[str, Any]]:
    """One row for each model, those with the most tokens first."""
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        one = {name: row[name] for name in SUMMED_FIELDS if name != "fresh"} | _priced(row, prices)
        known = found.setdefault(row["model"], {"model": row["model"], **dict.fromkeys(one, 0)})
        for name, value in one.items():
            known[name] = None if value is None or known[name] is None else known[name] + value
    for model, one in found.items():
        one["free"] = prices.is_free(model)
    return sorted(found.values(), key=lambda row: (-row["input"] - row["output"], row["model"]))


def _priced(row: Row, prices: Prices) -> dict[str, Any]:
    usage = Usage(**{name: row[name] for name in TOKEN_KINDS})
    prompt = row["thousands"] * 1000 + 1
    return {
        "fresh": usage.fresh,
        "money": prices.cost(row["model"], usage, prompt),
        "saved": prices.saved(row["model"], usage, prompt),
    }


def _totals(models: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The sums over all models; for money, over those whose price is known."""
    totals: dict[str, Any] = {name: sum(model[name] for model in models) for name in SUMMED_FIELDS}
    for name in ("money", "saved"):
        known = [model[name] for model in models if model[name] is not None]
        totals[name] = sum(known) if known else None
    return totals


def _by_day(quarters: Sequence[Row], first: date, days: int) -> dict[str, int]:
    found: Counter[str] = Counter()
    for row in quarters:
        day = datetime.fromtimestamp(row["quarter"] * QUARTER_SECONDS).date()
        found[day.isoformat()] += row["tokens"]
    every = [(first + timedelta(days=n)).isoformat() for n in range(days)]
    return {day: found[day] for day in every}


def _turns(rows: Sequence[Row]) -> dict[str, dict[str, int]]:
    """The number of turns, by kind of session and end."""
    found: dict[str, dict[str, int]] = {}
    for row in rows:
        found.setdefault(row["kind"], {})[row["stop"] or "running"] = row["turns"]
    return found


async def _learnt(storage: Storage, where: Mapping[str, Any]) -> dict[str, Any]:
    used = await _rows_if_kept(storage, "skills_used", where)
    changed = await _rows_if_kept(storage, "skills_changed", where)
    memory = await _rows_if_kept(storage, "memory_changed", where)
    found: dict[str, Any] = {}
    if used is not None:
        found["skills_used"] = [dict(row) for row in used]
    if changed is not None:
        found["skills_changed"] = {row["action"]: row["changes"] for row in changed}
    if memory is not None:
        found["memory_changes"] = memory[0]["changes"]
    return found


async def _rows_if_kept(
    storage: Storage, name: str, where: Mapping[str, Any]
) -> Sequence[Row] | None:
    try:
        return await storage.fetch(name, **where)
    except StoreError:  # the plugin that owns the table was never on
        return None
