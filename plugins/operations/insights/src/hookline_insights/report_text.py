"""Formats a report as text, with bars of block characters."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

from hookline_hookspecs.prices import FREE
from hookline_hookspecs.sentences import N_
from hookline_hookspecs.web import tn

from .groups import UsageGroup
from .report import UsageReport

Money: TypeAlias = Callable[[float | None], str]
"""Formats an amount of money; None becomes ``unknown``."""

MAX_BAR_CHARS = 20
"""Characters of the longest bar."""
MAX_DAY_ROWS = 31
"""Rows of the table by day; more days are combined."""
MAX_TOOLS = 10
MAX_SKILLS = 5
_EIGHTHS = " ▏▎▍▌▋▊▉█"
FAILED = ("error", "budget", "max_iterations")
"""The ways in which a turn ends without an answer."""


def report_text(report: UsageReport, money: Money) -> str:
    """Return the whole report, with a paragraph for each section that is not empty."""
    since = datetime.fromtimestamp(report.since)
    whose = N_("All chats") if report.chat is None else N_("This chat")
    days = tn("{n} day", "{n} days", report.days)
    head = f"{whose} · {days} · {N_(f'since {since:%Y-%m-%d}')}"
    if not report.totals["requests"] and not report.turns:
        return f"{head} · {N_('no model calls')}"
    parts = [
        "\n".join([head, *_cost(report, money), _turns(report), *_tokens(report.totals)]),
        _section(N_("Tokens by day"), _days(report.by_day)),
        _section(N_("By model"), _models(report.models, money)),
        _section(N_("Tools"), _tools(report.tools)),
        _section(N_("Skills used"), _skills(report.learnt.get("skills_used", ()))),
        _section(N_("Learned"), _learnt(report.learnt)),
        _section(N_("Sessions by channel"), _channels(report.channels)),
    ]
    return "\n\n".join(part for part in parts if part)


def groups_text(by: str, days: int, groups: Sequence[UsageGroup], money: Money) -> str:
    """Return a line for each person, chat, database or skill."""
    if not groups:
        return f"{_count(days, 'day')} by {by}: no model calls."
    rows = []
    for group in groups:
        cost = "cost unknown" if group.money is None else money(group.money)
        words = (
            f"{cost}; {_count(len(group.turns), 'turn')}, {group.input:,} in "
            f"({group.fresh:,} uncached), {group.output:,} out"
        )
        if group.calls:
            failed = f", {group.failed} failed" if group.failed else ""
            words += f"; {_count(group.calls, 'call')}{failed}"
        rows.append((group.name, group.input + group.output, words))
    return _section(f"{_count(days, 'day')} by {by}", rows)


def bar(value: float, max_value: float, width: int = MAX_BAR_CHARS) -> str:
    """Return a bar, ``width`` characters for ``max_value``; every value above 0 is visible."""
    eighths = round(8 * width * value / max_value) if max_value > 0 else 0
    eighths = max(eighths, 1 if value > 0 else 0)
    whole, rest = divmod(eighths, 8)
    return "█" * whole + (_EIGHTHS[rest] if rest else "")


def _section(title: str, rows: Sequence[tuple[str, float, str]]) -> str:
    """Rows of a name, a value for the bar and words."""
    if not rows:
        return ""
    max_value = max(value for _, value, _ in rows)
    names = [_shown(name) for name, _, _ in rows]
    width = max(map(_columns, names))
    lines = [title]
    for name, (_, value, words) in zip(names, rows, strict=True):
        drawn = f"{bar(value, max_value):<{MAX_BAR_CHARS}}  " if max_value > 0 else ""
        lines.append(f"  {name}{' ' * (width - _columns(name))}  {drawn}{words}".rstrip())
    return "\n".join(lines)


def _shown(name: str) -> str:
    seen = "".join(sign if sign.isprintable() else "?" for sign in name)
    return seen if len(seen) <= 48 else seen[:47] + "…"


def _columns(name: str) -> int:
    return sum(2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in name)


def _turns(report: UsageReport) -> str:
    parts = []
    for kind, stops in sorted(report.turns.items(), key=lambda item: item[0] != "chat"):
        failed = sum(stops.get(stop, 0) for stop in FAILED)
        parts.append(_turns_of(kind, sum(stops.values())))
        parts += [tn("{n} failed", "{n} failed", failed)] if failed else []
    requests = N_(f"Requests: {report.totals['requests']:,}")
    return " · ".join([requests, *(parts or [N_("no turns")])])


def _turns_of(kind: str, number: int) -> str:
    match kind:
        case "chat":
            return tn("{n} turn", "{n} turns", number)
        case "agent":
            return tn("{n} turn of sub-agents", "{n} turns of sub-agents", number)
        case "review":
            return tn("{n} turn of reviews", "{n} turns of reviews", number)
    return f"{tn('{n} turn', '{n} turns', number)} ({kind})"


def _tokens(totals: Mapping[str, Any]) -> list[str]:
    share = 100 * totals["cache_read"] / totals["input"] if totals["input"] else 0
    return [
        N_(
            f"Tokens in: {totals['input']:,}, of them {totals['fresh']:,} uncached, "
            f"{totals['cache_read']:,} read from the cache ({share:.0f} %), "
            f"{totals['cache_write']:,} written to it"
        ),
        N_(f"Tokens out: {totals['output']:,}, of them {totals['reasoning']:,} for reasoning"),
    ]


def _days(by_day: Mapping[str, int]) -> list[tuple[str, float, str]]:
    days = list(by_day.items())
    size = -(-len(days) // MAX_DAY_ROWS)
    groups = [days[start : start + size] for start in range(0, len(days), size)]
    sums = [(group[0][0], sum(tokens for _, tokens in group)) for group in groups]
    return [(day, tokens, f"{tokens:,}") for day, tokens in sums]


def _models(models: Sequence[Mapping[str, Any]], money: Money) -> list[tuple[str, float, str]]:
    rows = []
    for model in models:
        cost = FREE if model["free"] else money(model["money"])
        cost = f"cost {cost}" if cost == "unknown" else cost
        requests = _count(model["requests"], "request")
        words = f"{requests}, {model['input']:,} in, {model['output']:,} out"
        rows.append((model["model"], model["input"] + model["output"], f"{cost}; {words}"))
    return rows


def _tools(tools: Sequence[Mapping[str, Any]]) -> list[tuple[str, float, str]]:
    rows = []
    for tool in tools[:MAX_TOOLS]:
        failed = f", {tool['failed']} failed ({100 * tool['failed'] / tool['calls']:.0f} %)"
        words = _count(tool["calls"], "call") + (failed if tool["failed"] else "")
        rows.append((tool["name"], tool["calls"], words))
    return rows


def _skills(skills: Sequence[Mapping[str, Any]]) -> list[tuple[str, float, str]]:
    return [(skill["name"], skill["uses"], f"{skill['uses']}") for skill in skills[:MAX_SKILLS]]


def _learnt(learnt: Mapping[str, Any]) -> list[tuple[str, float, str]]:
    rows = [
        (f"skills, {name}", 0.0, str(n)) for name, n in learnt.get("skills_changed", {}).items()
    ]
    if learnt.get("memory_changes"):
        rows.append(("memory, changes", 0.0, str(learnt["memory_changes"])))
    return rows


def _channels(channels: Sequence[Mapping[str, Any]]) -> list[tuple[str, float, str]]:
    return [
        (
            channel["channel"],
            channel["turns"],
            f"{_count(channel['sessions'], 'session')}, {_count(channel['turns'], 'turn')}",
        )
        for channel in channels
    ]


def _cost(report: UsageReport, money: Money) -> list[str]:
    """The cost, what the cache saved, and the models whose price is unknown."""
    if not report.models:
        return []
    unknown = [_shown(model["model"]) for model in report.models if model["money"] is None]
    if report.totals["money"] is None:
        return [N_(f"Cost: unknown; no price for {', '.join(unknown)} (hookline prices list)")]
    if all(model["free"] for model in report.models):
        return [N_("Cost: free (local)")]
    since = report.prices_date or N_("your settings")
    parts = [N_(f"Cost: {money(report.totals['money'])} at prices from {since}")]
    saved = report.totals["saved"]
    if round(saved, 4):
        parts.append(
            N_(f"the provider's cache saved {money(saved)}")
            if saved > 0
            else N_(f"the provider's cache cost {money(-saved)} more")
        )
    if unknown:
        parts.append(N_(f"without {', '.join(unknown)} (price unknown)"))
    return [" · ".join(parts)]


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
