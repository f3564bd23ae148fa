"""The slash commands ``/usage`` and ``/context``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hookline_hookspecs import Context, Host, ImageBlock, Inspection, Message, Usage
from hookline_hookspecs.prices import FREE, Prices
from hookline_hookspecs.sentences import N_
from hookline_hookspecs.web import tn

from .output import tokens

TOKENS = ("input", "cache_read", "cache_write", "cache_write_1h", "output")


@dataclass
class _ModelUsage:
    """The usage of one model for one purpose; ``money`` and ``saved`` are None if unknown."""

    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    money: float | None = 0.0
    saved: float | None = 0.0

    def add(self, row: Mapping[str, Any], prices: Prices) -> None:
        used = Usage(**{name: row[name] for name in TOKENS}, input_cost=row["input_cost"])
        prompt = row["thousands"] * 1000 + 1
        self.calls += row["requests"]
        self.usage += used
        self.money = _plus(self.money, prices.cost(row["model"], used, prompt))
        self.saved = _plus(self.saved, prices.saved(row["model"], used, prompt))


async def usage(ctx: Context) -> str:
    """What the session cost, by model and purpose, and what the provider's cache saved."""
    prices = Prices.of(ctx.host)
    found = await _spent(ctx.host, ctx.session.id, prices)
    if not found:
        return N_("No model call yet.")
    lines = [_line(*name, spent, prices) for name, spent in found.items()]
    return "\n".join([*lines, _cost(found, prices)])


async def cost(host: Host, session_id: str) -> str:
    """Return a sentence about what a session cost; empty before the first model call."""
    prices = Prices.of(host)
    found = await _spent(host, session_id, prices)
    return _cost(found, prices) if found else ""


async def money(host: Host, session_id: str) -> float | None:
    """Return what a session cost, in US dollars; None if the price of a model is unknown."""
    return (await tokens_and_cost(host, session_id))[1]


async def tokens_and_cost(host: Host, session_id: str) -> tuple[Usage, float | None]:
    """Return the tokens of a session and what they cost, in US dollars; None if unknown."""
    found = (await _spent(host, session_id, Prices.of(host))).values()
    total: float | None = 0.0
    for spent in found:
        total = _plus(total, spent.money)
    return sum((spent.usage for spent in found), Usage()), total


async def _spent(host: Host, session_id: str, prices: Prices) -> dict[tuple[str, str], _ModelUsage]:
    """The session's calls by model and purpose."""
    found: dict[tuple[str, str], _ModelUsage] = {}
    for row in await host.storage.fetch("usage", id=session_id):
        found.setdefault((row["model"], row["purpose"]), _ModelUsage()).add(row, prices)
    return found


def _plus(sum_: float | None, amount: float | None) -> float | None:
    return None if sum_ is None or amount is None else sum_ + amount


def _line(model: str, purpose: str, spent: _ModelUsage, prices: Prices) -> str:
    used = spent.usage
    money = FREE if prices.is_free(model) else prices.format(spent.money)
    parts = (
        f"{model} ({purpose})",
        tn("{n} model call", "{n} model calls", spent.calls),
        N_(
            f"{used.input:,} tokens in ({used.cache_read:,} read from the cache, "
            f"{used.cache_write:,} written to it, {used.fresh:,} uncached)"
        ),
        tn("{n} token out", "{n} tokens out", used.output),
        N_("price unknown") if spent.money is None else money,
    )
    return " · ".join(parts)


def _cost(found: Mapping[tuple[str, str], _ModelUsage], prices: Prices) -> str:
    """The total cost, what the cache saved, and the models whose price is unknown."""
    models = [model for model, _ in found]
    if all(prices.is_free(model) for model in models):
        return N_("Cost: free (local).")
    known = [spent for spent in found.values() if spent.money is not None]
    unknown = dict.fromkeys(model for (model, _), spent in found.items() if spent.money is None)
    if not known:
        cached = _cached(sum((spent.usage for spent in found.values()), Usage()))
        return "\n".join([N_(f"Cost: unknown (no price for {', '.join(unknown)})."), cached])
    money = sum(spent.money or 0.0 for spent in known)
    saved = sum(spent.saved or 0.0 for spent in known)
    since = prices.as_of(*models) or N_("your settings")
    lines = [N_(f"Cost: {prices.format(money)} at prices from {since}.")]
    if round(saved, 4) > 0:
        lines.append(N_(f"The provider's cache saved {prices.format(saved)}."))
    elif round(saved, 4):
        lines.append(N_(f"The provider's cache cost {prices.format(-saved)} more."))
    if unknown:
        lines.append(N_(f"Not counted, because the price is unknown: {', '.join(unknown)}."))
    return "\n".join(lines)


def _cached(used: Usage) -> str:
    """How much of the input's cost the provider's cache saved."""
    share = 100 * (1 - used.input_cost / used.input) if used.input else 0.0
    if share >= 0:
        return N_(f"The provider's cache saved {share:.0f} % of the input cost.")
    return N_(f"The provider's cache made the input {-share:.0f} % more expensive.")


async def context(ctx: Context) -> str:
    """What fills the model's context window, in estimated tokens and percent."""
    stable = await ctx.host.services[Inspection].prompt(ctx.session.id)
    history = ctx.history
    history_chars = sum(_length(message) for message in history)
    blocks = sum(len(message.context) for message in history)
    parts = {
        N_("System prompt"): tokens(stable.system) if stable else 0,
        N_("Tools"): tokens(stable.tools_json) if stable else 0,
        N_("Messages"): -(-history_chars // 4),
        N_("Context blocks"): -(-blocks // 4),
    }
    parts[N_("Total")] = sum(parts.values())
    model = model_of(ctx)
    window = ctx.window(model)
    lines = [
        " · ".join((name, tn("{n} token", "{n} tokens", count), f"{100 * count / window:.1f} %"))
        for name, count in parts.items()
    ]
    named = N_(f"Context window of {model}") if model else N_("Context window")
    return "\n".join([*lines, f"{named} · {tn('{n} token', '{n} tokens', window)}"])


def model_of(ctx: Context) -> str | None:
    """The session's ``provider/model``; None if none is configured."""
    try:
        return ctx.model
    except Exception:  # something is missing in config or environment
        return None


def _length(message: Message) -> int:
    """The characters of a message as JSON, without the data of images."""
    length = len(json.dumps(message.to_dict(), ensure_ascii=False))
    for block in message.blocks:
        pictures = (block,) if isinstance(block, ImageBlock) else getattr(block, "images", ())
        length -= sum(len(picture.data) for picture in pictures)
    return length
