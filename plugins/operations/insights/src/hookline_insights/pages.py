"""``/insights``: usage and cost over the last days, as figures and charts.

Imported when a web server asks for routes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

from hookline_hookspecs import Host, Page, Route, Usage
from hookline_hookspecs.prices import FREE, Prices
from hookline_hookspecs.web import (
    Action,
    Actions,
    Chart,
    Part,
    Problem,
    RequestLike,
    Row,
    SiteRoute,
    Stat,
    Stats,
    Table,
    Text,
    View,
    build_path,
    create_tables,
    identity,
    query_params,
)

from .report import QUARTER_SECONDS, TOKEN_KINDS, InvalidDays, UsageReport, parse_days
from .reporter import Reporter

WINDOWS = {1: "Today", 7: "7 days", 30: "30 days"}
MODEL_COLUMNS = ("model", "requests", "fresh", "cache_read", "cache_write", "output")
MAX_ROWS = 100
"""Rows of a table."""


class InsightsPage:
    """The page ``/insights``."""

    def __init__(self, host: Host, prices: Prices, reporter: Reporter) -> None:
        self._host = host
        self._prices = prices
        self._reporter = reporter

    def register(self, register: Callable[[Route], None]) -> None:
        """Register the page."""
        create_tables(self._host, "kinds", since=0.0, channel=None, chat_id=None)
        register(SiteRoute("GET", "/insights", self.show, "person", Page("Insights", order=40)))

    async def show(self, request: RequestLike) -> View:
        """``GET /insights[?days=N]``: all chats for the operator, else the person's own."""
        who = identity(request)
        chat = (who.channel, who.name) if who.role == "person" else None
        try:
            days = parse_days(query_params(request).get("days", ""))
        except InvalidDays as error:
            raise Problem(400, "bad_days", f"{error}.") from None
        found = await self._reporter.report(days, chat)
        choices = [
            Action(
                label,
                build_path("insights", days=str(number)),
                style="primary" if number == days else "default",
                get=True,
            )
            for number, label in WINDOWS.items()
        ]
        parts: list[Part] = [Actions(choices)]
        if not found.totals["requests"] and not found.turns:
            text = "No usage in this period. Start a conversation in Chat."
            parts.append(Text(text))
        else:
            parts += [self._figures(found), *await self._charts(found), *self._tables(found)]
        since = datetime.fromtimestamp(found.since)
        whose = "All chats" if chat is None else "Your chats"
        return View("Insights", parts, f"{whose}, since {since:%Y-%m-%d}.")

    def _figures(self, found: UsageReport) -> Part:
        sums, money = found.totals, self._prices.format
        saved = sums["saved"] or 0.0
        cache = f"{money(saved)} saved by caching" if round(saved, 4) > 0 else ""
        share = 100 * sums["cache_read"] / sums["input"] if sums["input"] else 0.0
        turns = sum(sum(ends.values()) for ends in found.turns.values())
        items = [
            Stat("Cost", money(sums["money"]), cache),
            Stat("Requests", f"{sums['requests']:,}", f"in {turns:,} turns"),
            Stat("Tokens in", f"{sums['input']:,}", f"{share:.0f}% from cache"),
            Stat("Tokens out", f"{sums['output']:,}"),
        ]
        return Stats(items)

    async def _charts(self, found: UsageReport) -> Sequence[Part]:
        """Charts by local day: tokens by kind, and cost."""
        labels = list(found.by_day)
        channel, chat_id = found.chat or (None, None)
        where = {"since": found.since, "channel": channel, "chat_id": chat_id}
        kinds = await self._host.storage.fetch("kinds", **where)
        series: dict[str, list[float]] = {
            name: [0.0] * len(labels)
            for name in ("uncached", "cache read", "cache write", "output")
        }
        positions = {day: position for position, day in enumerate(labels)}
        for row in kinds:
            position = positions.get(_day(row["quarter"]))
            if position is None:
                continue
            fresh = row["input"] - row["cache_read"] - row["cache_write"]
            values = (fresh, row["cache_read"], row["cache_write"], row["output"])
            for name, value in zip(series, values, strict=True):
                series[name][position] += value
        spent = [0.0] * len(labels)
        for row in await self._host.storage.fetch("money", **where):
            usage = Usage(**{name: row[name] for name in TOKEN_KINDS})
            cost = self._prices.cost(row["model"], usage, row["thousands"] * 1000 + 1)
            if (position := positions.get(_day(row["quarter"]))) is not None:
                spent[position] += cost or 0.0
        names = [_short(day) for day in labels]
        charts: list[Part] = [Chart("Tokens by day", names, series, "stacked", "tokens")]
        if any(spent):
            rounded = {"cost": [round(amount, 4) for amount in spent]}
            charts.append(Chart("Cost by day", names, rounded, "bar", "US dollars"))
        return charts

    def _tables(self, found: UsageReport) -> Sequence[Part]:
        models = [
            Row([*(model[name] for name in MODEL_COLUMNS), self._cost(model)])
            for model in found.models[:MAX_ROWS]
        ]
        columns = ["Model", "Requests", "Uncached", "Cache read", "Cache write", "Output", "Cost"]
        tools = [
            Row(
                [tool["name"], tool["calls"], tool["failed"], _share(tool["failed"], tool["calls"])]
            )
            for tool in found.tools[:MAX_ROWS]
        ]
        skills = [
            Row([one["name"], one["uses"]])
            for one in found.learnt.get("skills_used", ())[:MAX_ROWS]
        ]
        turns = [
            Row([kind, stop, number])
            for kind, ends in found.turns.items()
            for stop, number in ends.items()
        ]
        channels = [
            Row([channel["channel"], channel["sessions"], channel["turns"]])
            for channel in found.channels
        ]
        dated = f"Prices as of {found.prices_date}." if found.prices_date else ""
        return [
            Table(columns, models, "Models", "No model calls."),
            *([Text(dated)] if dated else []),
            Table(["Tool", "Calls", "Failed", "Failure rate"], tools, "Tools", "No tool calls."),
            Table(["Skill", "Uses"], skills, "Skills", "No skills used."),
            Table(["Kind", "Ended with", "Turns"], turns, "Turns"),
            Table(["Channel", "Sessions", "Turns"], channels, "Channels"),
            *_learnt(found.learnt),
        ]

    def _cost(self, one: Mapping[str, Any]) -> str:
        return FREE if one["free"] else self._prices.format(one["money"])


def _learnt(learnt: Mapping[str, Any]) -> Sequence[Part]:
    rows = [Row([f"skills: {what}", n]) for what, n in learnt.get("skills_changed", {}).items()]
    if "memory_changes" in learnt:
        rows.append(Row(["memory changes", learnt["memory_changes"]]))
    return [Table(["Learned", "Times"], rows, "Learned")] if rows else []


def _share(failed: int, calls: int) -> str:
    return f"{100 * failed / calls:.0f}%" if calls else ""


def _day(quarter: int) -> str:
    return datetime.fromtimestamp(quarter * QUARTER_SECONDS).date().isoformat()


def _short(day: str) -> str:
    """A day as a chart label: ``3 Nov``."""
    found = date.fromisoformat(day)
    return f"{found.day} {found:%b}"
