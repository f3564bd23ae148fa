"""Takes another list into the home, and says what it changes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from .price import RATES, Price


def save(path: Path, text: str) -> None:
    """Write a list that was read without an error, atomically and for its owner alone.

    Raises:
        OSError: it cannot be written; what was there is as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fresh.touch(mode=0o600)
        fresh.write_text(text, encoding="utf-8", newline="")
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


def changes(before: Mapping[str, Price], after: Mapping[str, Price]) -> list[str]:
    """Return a line for each model whose price has changed, come or gone."""
    lines = []
    for model in sorted(before.keys() | after.keys()):
        old, new = before.get(model), after.get(model)
        if old is None and new is not None:
            lines.append(f"new      {model}: {_rates(new)}")
        elif new is None:
            lines.append(f"gone     {model}: its price is unknown now")
        elif old is not None and (changed := _changed(old, new)):
            lines.append(f"changed  {model}: {changed}")
    return lines


def _rates(price: Price) -> str:
    rates = price.rates
    return f"input {_shown(rates.input)}, output {_shown(rates.output)}"


def _changed(old: Price, new: Price) -> str:
    found = []
    for name in RATES:
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
