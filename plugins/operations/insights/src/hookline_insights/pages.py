"""``/insights``: usage and cost over the last days, as figures and charts.

Imported when a web server asks for routes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

from hookline_hookspecs import Host, Page, Route, Usage
from hookline_hookspecs.prices import Prices
from hookline_hookspecs.web import (
    N_,
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
    ending,
    format_number,
    identity,
    language,
    query_params,
    t,
    tn,
)

from .report import QUARTER_SECONDS, TOKEN_KINDS, InvalidDays, UsageReport, parse_days
from .reporter import Reporter

WINDOWS = {1: N_("Today"), 7: N_("7 days"), 30: N_("30 days")}
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
        register(
            SiteRoute(
                "GET", "/insights", self.show, "person", Page("Insights", "Activity", order=40)
            )
        )

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
                t(label),
                build_path("insights", days=str(number)),
                style="primary" if number == days else "default",
                get=True,
            )
            for number, label in WINDOWS.items()
        ]
        parts: list[Part] = [Actions(choices)]
        if not found.totals["requests"] and not found.turns:
            text = t("No usage in this period. Start a conversation in Chat.")
            parts.append(Text(text))
        else:
            parts += [self._figures(found), *await self._charts(found), *self._tables(found)]
        day = language().day(datetime.fromtimestamp(found.since))
        return View(
            t("Insights"),
            parts,
            t("All chats, since {day}.", day=day)
            if chat is None
            else t("Your chats, since {day}.", day=day),
        )

    def _figures(self, found: UsageReport) -> Part:
        sums, money = found.totals, self._prices.format
        saved = sums["saved"] or 0.0
        cache = t("{saved} saved by caching", saved=money(saved)) if round(saved, 4) > 0 else ""
        share = 100 * sums["cache_read"] / sums["input"] if sums["input"] else 0.0
        turns = sum(sum(ends.values()) for ends in found.turns.values())
        items = [
            Stat(t("Cost"), money(sums["money"]), cache),
            Stat(
                t("Requests"),
                format_number(sums["requests"]),
                tn("in {n} turn", "in {n} turns", turns),
            ),
            Stat(
                t("Tokens in"),
                format_number(sums["input"]),
                t("{share}% from cache", share=round(share)),
            ),
            Stat(t("Tokens out"), format_number(sums["output"])),
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
            for name in (t("uncached"), t("cache read"), t("cache write"), t("output"))
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
        charts: list[Part] = [Chart(t("Tokens by day"), names, series, "stacked", t("tokens"))]
        if any(spent):
            rounded = {t("cost"): [round(amount, 4) for amount in spent]}
            charts.append(Chart(t("Cost by day"), names, rounded, "bar", t("US dollars")))
        return charts

    def _tables(self, found: UsageReport) -> Sequence[Part]:
        models = [
            Row([*(model[name] for name in MODEL_COLUMNS), self._cost(model)])
            for model in found.models[:MAX_ROWS]
        ]
        columns = [
            t("Model"),
            t("Requests"),
            t("Uncached"),
            t("Cache read"),
            t("Cache write"),
            t("Output"),
            t("Cost"),
        ]
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
            Row([kind, ending(stop), number])
            for kind, ends in found.turns.items()
            for stop, number in ends.items()
        ]
        channels = [
            Row([channel["channel"], channel["sessions"], channel["turns"]])
            for channel in found.channels
        ]
        dated = (
            t("Prices as of {prices_date}.", prices_date=found.prices_date)
            if found.prices_date
            else ""
        )
        return [
            Table(columns, models, t("Models"), t("No model calls.")),
            *([Text(dated)] if dated else []),
            Table(
                [t("Tool"), t("Calls"), t("Failed"), t("Failure rate")],
                tools,
                t("Tools"),
                t("No tool calls."),
            ),
            Table([t("Skill"), t("Uses")], skills, t("Skills"), t("No skills used.")),
            Table([t("Kind"), t("Ended with"), t("Turns")], turns, t("Turns")),
            Table([t("Channel"), t("Sessions"), t("Turns")], channels, t("Channels")),
            *_learnt(found.learnt),
        ]

    def _cost(self, one: Mapping[str, Any]) -> str:
        return t("free (local)") if one["free"] else self._prices.format(one["money"])


def _learnt(learnt: Mapping[str, Any]) -> Sequence[Part]:
    rows = [
        Row([t("skills: {change}", change=t(what)), n])
        for what, n in learnt.get("skills_changed", {}).items()
    ]
    if "memory_changes" in learnt:
        rows.append(Row([t("memory changes"), learnt["memory_changes"]]))
    return [Table([t("Learned"), t("Times")], rows, t("Learned"))] if rows else []


def _share(failed: int, calls: int) -> str:
    return f"{100 * failed / calls:.0f}%" if calls else ""


def _day(quarter: int) -> str:
    return datetime.fromtimestamp(quarter * QUARTER_SECONDS).date().isoformat()


def _short(day: str) -> str:
    """A day as a chart label: ``3 Nov``."""
    return language().day(date.fromisoformat(day))
