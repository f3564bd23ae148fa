"""List what models cost, or load a new price list.

``hookline prices``.
"""

from __future__ import annotations

import json as jsonlib
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from hookline_hookspecs import CommandError, HooklineError
from hookline_hookspecs.cli import with_plugin
from hookline_prices import NAME, RATES, BadPrices, Price, PriceList, changes, read_list, save

if TYPE_CHECKING:
    from ..plugin import Insights


SHOWN_PROBLEMS = 10
LEGEND = (
    "US dollars per million tokens; read and write are for the cache. Other models have no known\n"
    "price; local servers (ollama, vllm, lmstudio, llamacpp) are free."
)
_Action = Annotated[str, typer.Argument(help="list, or update with SOURCE.")]
_Source = Annotated[
    str | None, typer.Argument(metavar="SOURCE", help="A file or URL to update from.")
]


@with_plugin
async def prices(
    plugin: Insights,
    action: _Action = "list",
    source: _Source = None,
    json: Annotated[bool, typer.Option("--json", help="Print `list` as JSON.")] = False,
) -> None:
    """List what models cost and since when, or load a new price list."""
    if action == "list" and source is None:
        _list(plugin, json)
    elif action == "update" and source is not None:
        await _update(plugin, source)
    else:
        raise CommandError("write `hookline prices list` or `hookline prices update FILE|URL`")


def _list(plugin: Insights, json: bool) -> None:
    found = sorted(plugin.prices.all().items())
    if json:
        rows = [{"model": model, **asdict(price)} for model, price in found]
        _print(jsonlib.dumps({"date": plugin.prices.date(), "models": rows}))
        return
    _print(f"{_table(found)}\n\n{LEGEND}")


async def _update(plugin: Insights, source: str) -> None:
    before = plugin.prices.all()
    text = await _fetched(plugin, source) if _is_url(source) else _file(Path(source))
    try:
        found = read_list(text, source)
    except BadPrices as error:
        raise CommandError(_problems(source, error), 1) from None
    path = plugin.host.home / NAME
    try:
        save(path, text)
    except OSError as error:
        raise CommandError(f"{path}: cannot be written: {error.strerror}.", 1) from None
    _print(_told(found, before, plugin.prices.all(), path))


async def _fetched(plugin: Insights, url: str) -> str:
    try:
        response = await plugin.host.http.get(url, max_bytes=2_000_000)
    except HooklineError as error:
        raise CommandError(f"{url}: {error}", 1) from None
    if response.status >= 400:
        raise CommandError(f"{url} answered with status {response.status}.", 1)
    return response.body.decode("utf-8", "replace")


def _is_url(source: str) -> bool:
    return source.lower().startswith(("http://", "https://"))


def _file(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}.", 1) from None
    except UnicodeDecodeError:
        raise CommandError(f"{path}: not UTF-8 text.", 1) from None


def _problems(source: str, error: BadPrices) -> str:
    shown = error.problems[:SHOWN_PROBLEMS]
    more = len(error.problems) - len(shown)
    last = [f"… and {more} more"] if more else []
    return "\n".join([*shown, *last, f"{source} was not loaded; the prices are unchanged."])


def _told(found: PriceList, before: dict[str, Price], after: dict[str, Price], path: Path) -> str:
    changed = changes(before, after)
    head = f"Saved {len(found.models)} prices of {found.date} to {path}."
    return "\n".join([head, *changed] if changed else [head, "No price changed."])


def _table(found: list[tuple[str, Price]]) -> str:
    rows = [("model", *(name.removeprefix("cache_").replace("_", " ") for name in RATES), "of")]
    for model, price in found:
        rates = [_rate(getattr(price.rates, name)) for name in RATES]
        rows.append((model, *rates, price.date or "your settings"))
        if price.long is not None:
            rates = [_rate(getattr(price.long, name)) for name in RATES]
            rows.append((f"  above {price.above:,} tokens of input", *rates, ""))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        numbers = [f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join([f"{row[0]:<{widths[0]}}", *numbers]).rstrip())
    return "\n".join(lines)


def _rate(rate: float | None) -> str:
    return "-" if rate is None else f"{rate:.2f}" if round(rate, 2) == rate else f"{rate:g}"


def _print(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding) + "\n")
