"""Show model prices, or load a new price list.

``hookline prices``.
"""

from __future__ import annotations

import json as jsonlib
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from hookline_hookspecs import CommandError, HooklineError
from hookline_hookspecs.cli import with_plugin

from ..price_list import RATE_NAMES, InvalidPriceList, ModelPrice, PriceList, read_list
from ..prices import PRICE_FILE

if TYPE_CHECKING:
    from ..plugin import Insights


MAX_SHOWN_PROBLEMS = 10
LEGEND = (
    "US dollars per million tokens; read and write are for the cache. Other models are priced by\n"
    "genai-prices; local servers (ollama, vllm, lmstudio, llamacpp) are free."
)
_Action = Annotated[str, typer.Argument(help="list or update.")]
_Source = Annotated[
    str | None, typer.Argument(metavar="SOURCE", help="update: a file or URL with the new prices.")
]


@with_plugin
async def prices(
    plugin: Insights,
    action: _Action = "list",
    source: _Source = None,
    json: Annotated[bool, typer.Option("--json", help="Print `list` as JSON.")] = False,
) -> None:
    """Show model prices and their dates, or load a new price list."""
    if action == "list" and source is None:
        _list(plugin, json)
    elif action == "update" and source is not None:
        await _update(plugin, source)
    else:
        raise CommandError("Use `hookline prices list` or `hookline prices update FILE|URL`")


def _list(plugin: Insights, json: bool) -> None:
    found = sorted(plugin.prices.all().items())
    if json:
        rows = [{"model": model, **asdict(price)} for model, price in found]
        _print(jsonlib.dumps({"date": plugin.prices.as_of(), "models": rows}))
        return
    _print(f"{_table(found)}\n\n{LEGEND}")


async def _update(plugin: Insights, source: str) -> None:
    before = plugin.prices.all()
    text = await _fetch(plugin, source) if _is_url(source) else _file(Path(source))
    try:
        found = read_list(text, source)
    except InvalidPriceList as error:
        raise CommandError(_problems(source, error), 1) from None
    path = plugin.host.home / PRICE_FILE
    try:
        save(path, text)
    except OSError as error:
        raise CommandError(f"{path}: cannot be written: {error.strerror}.", 1) from None
    _print(_update_text(found, before, plugin.prices.all(), path))


async def _fetch(plugin: Insights, url: str) -> str:
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


def _problems(source: str, error: InvalidPriceList) -> str:
    shown = error.problems[:MAX_SHOWN_PROBLEMS]
    more = len(error.problems) - len(shown)
    last = [f"… and {more} more"] if more else []
    return "\n".join([*shown, *last, f"{source} was not loaded; the prices are unchanged."])


def _update_text(
    found: PriceList, before: dict[str, ModelPrice], after: dict[str, ModelPrice], path: Path
) -> str:
    changed = changes(before, after)
    head = f"Saved {len(found.models)} prices of {found.date} to {path}."
    return "\n".join([head, *changed] if changed else [head, "No price changed."])


def _table(found: list[tuple[str, ModelPrice]]) -> str:
    rows = [
        ("model", *(name.removeprefix("cache_").replace("_", " ") for name in RATE_NAMES), "of")
    ]
    for model, price in found:
        rates = [_rate(getattr(price.rates, name)) for name in RATE_NAMES]
        rows.append((model, *rates, price.date or "your settings"))
        if price.long is not None:
            rates = [_rate(getattr(price.long, name)) for name in RATE_NAMES]
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


def save(path: Path, text: str) -> None:
    """Write a valid list, atomically and readable by its owner only.

    Raises:
        OSError: it cannot be written; the previous file is unchanged.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.touch(mode=0o600)
        temporary.write_text(text, encoding="utf-8", newline="")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def changes(before: Mapping[str, ModelPrice], after: Mapping[str, ModelPrice]) -> list[str]:
    """Return a line for each model whose price is new, changed or removed."""
    lines = []
    for model in sorted(before.keys() | after.keys()):
        old, new = before.get(model), after.get(model)
        if old is None and new is not None:
            lines.append(f"new      {model}: {_rates(new)}")
        elif new is None:
            lines.append(f"removed  {model}: its price is unknown now")
        elif old is not None and (changed := _changed(old, new)):
            lines.append(f"changed  {model}: {changed}")
    return lines


def _rates(price: ModelPrice) -> str:
    rates = price.rates
    return f"input {_shown(rates.input)}, output {_shown(rates.output)}"


def _changed(old: ModelPrice, new: ModelPrice) -> str:
    found = []
    for name in RATE_NAMES:
        was, now = getattr(old.rates, name), getattr(new.rates, name)
        if was != now:
            found.append(f"{name.replace('_', ' ')} {_shown(was)} → {_shown(now)}")
    if (old.above, old.long) != (new.above, new.long):
        found.append("the rates of long prompts")
    return ", ".join(found)


def _shown(rate: float | None) -> str:
    if rate is None:
        return "none"
    return f"${rate:.2f}" if round(rate, 2) == rate else f"${rate:g}"
