"""Draws a chart as SVG, on the server; colours come from the style sheet."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10
from textwrap import wrap

from hookline_hookspecs.web import Chart
from markupsafe import Markup

WIDE, NARROW, HEIGHT = 960, 344, 250
"""Pixels. Phones get a narrow chart, so that its labels are as large as elsewhere."""
LEFT, RIGHT, TOP, BOTTOM = 52, 8, 10, 26
COLOURS = 6
LABEL_WIDTH = 64
"""Pixels that a label below the axis needs."""
LABEL_CHARS = 10
"""Characters in a line of such a label, which may have two lines."""


def chart(value: Chart) -> Markup:
    """Return the picture and its legend. Missing figures count as 0."""
    names = list(value.series)
    rows = [[*list(value.series[name])[: len(value.labels)]] for name in names]
    for row in rows:
        row += [0.0] * (len(value.labels) - len(row))
    if not value.labels or not rows:
        return Markup('<p class="empty">No figures yet.</p>')
    stacked = value.kind == "stacked"
    columns = list(zip(*rows, strict=True))
    top = max((sum(c) if stacked else max(c)) for c in columns)
    low = min(0.0, *(min(c) for c in columns))
    ticks = scale(low, max(top, low + 1e-9))
    shapes = {"bar": _bars, "stacked": _stacks, "line": _lines}[value.kind]
    description = f"{value.title}: {', '.join(names)}"
    drawn = Markup('<svg class="{}" viewBox="0 0 {} {}" role="img" aria-label="{}">{}{}</svg>')
    picture = Markup("").join(
        drawn.format(
            name, width, HEIGHT, description, _axes(value, ticks, width), shapes(rows, ticks, width)
        )
        for name, width in (("wide", WIDE), ("narrow", NARROW))
    )
    if len(names) < 2:
        return picture
    entry = Markup(
        '<li><svg viewBox="0 0 8 8" aria-hidden="true">'
        '<rect class="{}" width="8" height="8" rx="2"/></svg>{}</li>'
    )
    legend = Markup("").join(entry.format(colour(n), name) for n, name in enumerate(names))
    return picture + Markup('<ul class="legend">{}</ul>').format(legend)


def colour(number: int) -> str:
    """Return the class of a series."""
    return f"c{number % COLOURS + 1}"


def scale(low: float, high: float) -> list[float]:
    """Return round figures that cover a range, four of them or a few more."""
    step = (high - low) / 4
    power = 10.0 ** floor(log10(step)) if step > 0 else 1.0
    step = next(power * f for f in (1, 2, 2.5, 5, 10) if power * f >= step - 1e-12)
    first, last = floor(low / step), ceil(high / step - 1e-9)
    return [n * step for n in range(first, max(last, first + 1) + 1)]


def short(value: float) -> str:
    """Return a figure for an axis, such as ``1.5k``."""
    for limit, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            return f"{value / limit:.3g}{suffix}"
    return f"{value:.3g}"


def _y(value: float, ticks: Sequence[float]) -> float:
    share = (value - ticks[0]) / (ticks[-1] - ticks[0])
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - share)


def _step(count: int, width: int) -> float:
    return (width - LEFT - RIGHT) / max(count, 1)


def _axes(value: Chart, ticks: Sequence[float], width: int) -> Markup:
    line = Markup(
        '<line class="grid" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>'
        '<text x="{}" y="{:.1f}" text-anchor="end">{}</text>'
    )
    parts = [
        line.format(LEFT, width - RIGHT, y, y, LEFT - 6, y + 4, short(tick))
        for tick in ticks
        for y in [_y(tick, ticks)]
    ]
    step = _step(len(value.labels), width)
    every = max(1, ceil(LABEL_WIDTH / step))
    below = Markup('<text x="{:.1f}" y="{}" text-anchor="middle">{}</text>')
    named = [_lines_of(label) for label in value.labels]
    high = HEIGHT - 8 if all(len(lines) < 2 for lines in named) else HEIGHT - 14
    parts += [
        below.format(LEFT + step * (n + 0.5), high + 11 * row, text)
        for n, lines in enumerate(named)
        if n % every == 0
        for row, text in enumerate(lines)
    ]
    return Markup("").join(parts)


def _lines_of(label: str) -> list[str]:
    return wrap(label, LABEL_CHARS, max_lines=2, placeholder="…")


def _rect(
    x: float, width: float, low: float, high: float, ticks: Sequence[float], n: int
) -> Markup:
    one, other = sorted((_y(low, ticks), _y(high, ticks)))
    return Markup(
        '<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="1.5"/>'
    ).format(colour(n), x, one, max(width, 0.5), other - one)


def _bars(rows: Sequence[Sequence[float]], ticks: Sequence[float], room: int) -> Markup:
    step = _step(len(rows[0]), room)
    width = min(step * 0.72 / len(rows), 44)
    left = (step - width * len(rows)) / 2
    return Markup("").join(
        _rect(LEFT + step * n + left + width * k, width - 1, 0, figure, ticks, k)
        for k, row in enumerate(rows)
        for n, figure in enumerate(row)
    )


def _stacks(rows: Sequence[Sequence[float]], ticks: Sequence[float], room: int) -> Markup:
    step = _step(len(rows[0]), room)
    width = min(step * 0.72, 44)
    parts = []
    for n in range(len(rows[0])):
        base = 0.0
        for k, row in enumerate(rows):
            x = LEFT + step * n + (step - width) / 2
            parts.append(_rect(x, width, base, base + row[n], ticks, k))
            base += row[n]
    return Markup("").join(parts)


def _lines(rows: Sequence[Sequence[float]], ticks: Sequence[float], room: int) -> Markup:
    step = _step(len(rows[0]), room)
    parts = []
    for k, row in enumerate(rows):
        points = [(LEFT + step * (n + 0.5), _y(figure, ticks)) for n, figure in enumerate(row)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(Markup('<polyline class="line {}" points="{}"/>').format(colour(k), path))
        if len(points) <= 40:
            dot = Markup('<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="2.5"/>')
            parts += [dot.format(colour(k), x, y) for x, y in points]
    return Markup("").join(parts)
