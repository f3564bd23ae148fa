"""The filters of the templates: numbers, times, bars, differences and safe addresses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from difflib import SequenceMatcher
from itertools import groupby
from typing import Any
from urllib.parse import urlencode, urlsplit

from hookline_hookspecs.visible_text import pieces, spell_out, spell_out_prose
from hookline_hookspecs.web import (
    Action,
    Diff,
    Table,
    Timeline,
    TimelineStep,
    language,
    t,
    translate,
)
from markupsafe import Markup, escape

from .render_chart import chart
from .render_markdown import markdown

CONTEXT_LINES = 3
"""Equal lines to show around a change."""
MAX_DIFF_LINES = 20_000
"""Lines of both texts; longer ones are shown as removed and added."""
_UNSAFE_IN_ADDRESS = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]"
)
"""What browsers drop from an address or show in another order."""
_FIGURE = re.compile(r"(?:< )?[$€]?\d[\d.,\u00a0\u202f]*\s?%?")
SHORT_PART = 0.01
"""The part of a timeline below which a step is short."""
MIN_FOLDED_STEPS = 3
"""Fewer short steps after each other are shown one by one."""
MAX_WORD_CHARS = 32
"""Longer words must be broken in a table."""


def href(address: str) -> str:
    """Return a path of this server, or an ``http``, ``https`` or ``mailto`` URL; else ``#``."""
    text = address.strip()
    if _UNSAFE_IN_ADDRESS.search(text) or "\\" in text:
        return "#"
    if text.startswith(("/", "?", "#")) and not text.startswith("//"):
        return text
    return text if urlsplit(text).scheme in ("http", "https", "mailto") else "#"


def foreign(address: str) -> bool:
    """Return whether an address leads to another site."""
    return href(address).startswith(("http:", "https:"))


def get_href(action: Action) -> str:
    """Return the URL of a GET action, with its fields."""
    path = href(action.path)
    if not action.fields:
        return path
    return f"{path}{'&' if '?' in path else '?'}{urlencode(dict(action.fields))}"


def paragraphs(text: str) -> list[Markup]:
    """Split a text into paragraphs at blank lines; parts in backticks are literal."""
    found = (one.strip() for one in re.split(r"\n\s*\n", spell_out_prose(text)))
    return [quoting(one) for one in found if one]


def visible(text: str) -> Markup:
    """Return a text as markup; misleading and invisible characters are marked as ``U+202E``."""
    shown = (
        Markup('<span class="control">U+{:04X}</span>').format(ord(piece))
        if is_hidden
        else escape(piece)
        for piece, is_hidden in pieces(str(text))
    )
    return Markup("").join(shown)


def marked(text: str, marks: Sequence[str]) -> Markup:
    """Return a text as markup, like :func:`visible`, with these parts highlighted."""
    named = "|".join(re.escape(one) for one in sorted(filter(None, marks), key=len, reverse=True))
    parts = re.split(f"({named})", text) if named else [text]
    tag = Markup("<mark>{}</mark>")
    return Markup("").join(
        tag.format(visible(one)) if n % 2 else visible(one) for n, one in enumerate(parts)
    )


def figure(value: float) -> str:
    """Return a number with thousands separators and at most two decimals, more below 1."""
    number = language().number
    if isinstance(value, int) or float(value).is_integer():
        return number(int(value))
    if abs(value) >= 1:
        return number(value, 2)
    digits = f"{value:.4g}"
    return digits if "e" in digits else number(value, len(digits.partition(".")[2]))


def numeric(table: Table) -> frozenset[int]:
    """Return which columns of a table have only numbers, also as percentages or money."""
    filled: set[int] = set()
    others: set[int] = set()
    for row in table.rows:
        for column, cell in enumerate(row.cells):
            if cell is None:
                continue
            is_number = isinstance(cell, int | float) or _FIGURE.fullmatch(str(cell))
            (filled if is_number else others).add(column)
    return frozenset(filled - others)


def milliseconds(value: float | None) -> str:
    """Return a duration for people: ``0.4 ms``, ``35 ms``, ``2.1 s``, ``3 min 5 s``."""
    if value is None:
        return ""
    number = language().number
    if value < 0.1:
        return f"< {number(0.1, 1)} ms"
    if value < 10:
        return f"{number(value, 1)} ms"
    if value < 1000:
        return f"{value:.0f} ms"
    if value < 60_000:
        return t("{n} s", n=number(value / 1000, 1))
    minutes, seconds = divmod(int(value // 1000), 60)
    return t("{min} min {s} s", min=minutes, s=seconds)


def span(timeline: Timeline) -> float:
    """Return the milliseconds that a timeline covers, at least 1."""

    def end(steps: Any) -> float:
        ends = (max((m.start or 0) + (m.ms or 0), end(m.children)) for m in steps)
        return float(max(ends, default=0))

    return max(end(timeline.steps), 1.0)


def step_runs(steps: Sequence[TimelineStep], whole: float) -> Iterator[list[TimelineStep]]:
    """Yield each step of a timeline on its own, and short steps after each other together."""
    for short, found in groupby(steps, lambda one: is_short(one, whole)):
        run = list(found)
        if short and len(run) >= MIN_FOLDED_STEPS:
            yield run
        else:
            yield from ([one] for one in run)


def is_short(step: TimelineStep, whole: float) -> bool:
    """Return whether a step took little time and has nothing to tell."""
    quick = step.ms is not None and step.ms < max(whole * SHORT_PART, 0.1)
    silent = not step.detail and step.tone == "neutral"
    return quick and silent and all(is_short(one, whole) for one in step.children)


def bar(step: TimelineStep, whole: float) -> Markup:
    """Return the bar of a step in its timeline, as SVG."""
    if step.start is None and step.ms is None:
        return Markup('<svg class="none" aria-hidden="true"></svg>')
    start = min(100 * (step.start or 0) / whole, 99)
    width = min(max(100 * (step.ms or 0) / whole, 0.8), 100 - start)
    return Markup(
        '<svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">'
        '<rect x="{:.2f}" width="{:.2f}" height="6"/></svg>'
    ).format(start, width)


def first_line(text: str) -> str:
    """Return the first line of a text, for the line that unfolds it."""
    line = text.strip().partition("\n")[0]
    return line if len(line) <= 80 else f"{line[:79]}…"


def diff(value: Diff) -> Iterator[tuple[str, str]]:
    """Yield the lines of a difference as ``(add|del|same|gap, text)``."""
    before, after = value.before.splitlines(), value.after.splitlines()
    if len(before) + len(after) > MAX_DIFF_LINES:
        yield from (("del", f"- {line}") for line in before[:MAX_DIFF_LINES])
        yield from (("add", f"+ {line}") for line in after[:MAX_DIFF_LINES])
        return
    last = None
    for group in SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(
        CONTEXT_LINES
    ):
        first = group[0]
        if (last or 0) < first[1]:
            yield "gap", t("… from line {n}", n=first[3] + 1)
        for tag, a, b, c, d in group:
            if tag == "equal":
                yield from (("same", f"  {line}") for line in before[a:b])
            yield from (("del", f"- {line}") for line in before[a:b] if tag != "equal")
            yield from (("add", f"+ {line}") for line in after[c:d] if tag != "equal")
        last = group[-1][2]


def _at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def day_time(seconds: float) -> str:
    """Return a time of these weeks for readers whose time zone is not known."""
    at = _at(seconds)
    return f"{language().day(at)}, {at:%H:%M} UTC"


def unbroken(value: object) -> bool:
    """Return whether a text has a word that is too long for a column, such as a URL."""
    return isinstance(value, str) and any(len(word) > MAX_WORD_CHARS for word in value.split())


def quoting(text: str) -> Markup:
    """Return a text as :func:`visible` does; parts in backticks are literal."""
    parts = re.split(r"`([^`\n]+)`", str(text))
    shown = (
        Markup('<span class="mono">{}</span>').format(visible(part)) if n % 2 else visible(part)
        for n, part in enumerate(parts)
    )
    return Markup("").join(shown)


FILTERS: Mapping[str, Callable[..., Any]] = {
    "quoting": quoting,
    "translated": translate,
    "kind": lambda value: type(value).__name__.lower(),
    "href": href,
    "foreign": foreign,
    "get_href": get_href,
    "paragraphs": paragraphs,
    "visible": visible,
    "marked": marked,
    "spelled": spell_out,
    "figure": figure,
    "numeric": numeric,
    "ms": milliseconds,
    "span": span,
    "step_runs": step_runs,
    "bar": bar,
    "first_line": first_line,
    "diff": diff,
    "chart": chart,
    "markdown": markdown,
    "iso": lambda seconds: _at(seconds).isoformat(timespec="seconds"),
    "utc": lambda seconds: _at(seconds).strftime("%Y-%m-%d %H:%M UTC"),
    "day_time": day_time,
    "ident": lambda name: "f-" + re.sub(r"[^\w-]", "-", name),
    "rows": lambda text: min(max(str(text).count("\n") + 2, 3), 24),
    "unbroken": unbroken,
    "truth": lambda value: value is True or str(value).lower() in ("true", "on", "yes", "1"),
}
