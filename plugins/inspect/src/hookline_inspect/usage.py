"""The slash commands ``/usage`` and ``/context``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hookline_hookspecs import Context, ImageBlock, Message

from .output import table, tokens
from .service import inspection


async def usage(ctx: Context) -> str:
    """Tokens of the session by model and purpose, and what the cache saved."""
    rows = await ctx.host.storage.fetch("usage", id=ctx.session.id)
    if not rows:
        return "No model call yet."
    lines = [_spent(row) for row in rows]
    return "\n".join([*lines, _saved(rows)])


def _spent(row: Mapping[str, Any]) -> str:
    fresh = row["input"] - row["cache_read"] - row["cache_write"]
    return (
        f"{row['model']} ({row['purpose']}): {row['requests']} calls, {row['input']} in "
        f"({row['cache_read']} read from the cache, {row['cache_write']} written, {fresh} fresh), "
        f"{row['output']} out"
    )


def _saved(rows: Sequence[Mapping[str, Any]]) -> str:
    """What the input cost, in fresh tokens of input, which it would all be without a cache."""
    cost, without = sum(row["input_cost"] for row in rows), sum(row["input"] for row in rows)
    share = 100 * (1 - cost / without) if without else 0.0
    told = f"{share:.0f} % saved" if share >= 0 else f"{-share:.0f} % more"
    return f"The input cost as much as {cost:.0f} fresh tokens; without cache {without}: {told}."


async def context(ctx: Context) -> str:
    """What fills the model's window, in estimated tokens and percent of it."""
    stable = await inspection(ctx.host).prompt(ctx.session.id)
    history = ctx.history
    said = sum(_length(message) for message in history)
    blocks = sum(len(message.context) for message in history)
    parts = {
        "System prompt": tokens(stable.system) if stable else 0,
        "Tools": tokens(stable.tools_json) if stable else 0,
        f"History in {len(history)} messages": -(-said // 4),
        "Context blocks": -(-blocks // 4),
    }
    parts["Together"] = sum(parts.values())
    model = model_of(ctx)
    window = ctx.window(model)
    rows = [[name, count, f"{100 * count / window:.1f} %"] for name, count in parts.items()]
    named = f" of {model}" if model else ""
    return f"{table(['', 'tokens', 'of the window'], rows)}\nWindow{named}: {window} tokens"


def model_of(ctx: Context) -> str | None:
    """The session's ``provider/model``, None where none is configured."""
    try:
        return ctx.model
    except Exception:  # whatever config or environment lack
        return None


def _length(message: Message) -> int:
    """The characters of a message as JSON; a picture's data is no text and is not counted."""
    length = len(json.dumps(message.to_dict(), ensure_ascii=False))
    for block in message.blocks:
        pictures = (block,) if isinstance(block, ImageBlock) else getattr(block, "images", ())
        length -= sum(len(picture.data) for picture in pictures)
    return length
