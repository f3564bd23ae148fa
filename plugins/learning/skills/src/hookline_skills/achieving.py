"""Whether a turn has completed something that could be worth a skill."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import yaml
from hookline_hookspecs import Context, ToolResult

LEAST_CALLS = 5
"""Tools that the turn must have used (FEATURES, review)."""
MOST_FAILED = 0.25
"""The share of calls that failed has to be smaller."""
START = 200
"""Characters of an answer in which an apology for not having done it stands."""


def achieved(ctx: Context) -> bool:
    """True after a turn of a chat that ended in an answer, used tools, and did not fail."""
    turn = ctx.turn
    if turn.session.kind != "chat" or turn.stop != "done" or not turn.reply.strip():
        return False
    calls = turn.tool_calls
    if len(calls) < LEAST_CALLS or _is_apology(turn.reply):
        return False
    failed = sum(not result.ok for result in calls)
    return failed < len(calls) * MOST_FAILED and not _went_in_circles(calls)


def _went_in_circles(calls: tuple[ToolResult, ...]) -> bool:
    """True if a call was refused that had been made before with the same arguments: that is what
    a circuit breaker refuses."""
    seen: set[str] = set()
    for result in calls:
        made = json.dumps([result.call.name, result.call.arguments], sort_keys=True, default=repr)
        if made in seen and not result.ok and result.text.startswith("Denied: "):
            return True
        seen.add(made)
    return False


def _is_apology(reply: str) -> bool:
    return _apologies().search(reply[:START].casefold().replace("’", "'")) is not None


@cache
def _apologies() -> re.Pattern[str]:
    text = (Path(__file__).parent / "apologies.yaml").read_text("utf-8")
    phrases = [
        phrase for line in yaml.load(text, Loader=yaml.CSafeLoader).values() for phrase in line
    ]
    dense = [re.escape(p) for p in phrases if not p.isascii() and not p[0].isascii()]
    spaced = [re.escape(p) for p in phrases]
    return re.compile(rf"(?<!\w)(?:{'|'.join(spaced)})(?!\w)|{'|'.join(dense)}")
