"""Whether a turn completed something that may be worth a skill."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import yaml
from hookline_hookspecs import Context, ToolResult

MIN_TOOL_CALLS = 5
"""Tool calls that the turn must have made: a procedure has several steps."""
MAX_FAILED_SHARE = 0.25
"""Share of failed calls from which a turn counts as failed."""
APOLOGY_CHARS = 200
"""Characters at the start of an answer that are searched for an apology."""


def is_worth_review(ctx: Context) -> bool:
    """True after a turn of a chat that ended with an answer, used tools, and did not fail."""
    turn = ctx.turn
    if turn.session.kind != "chat" or turn.stop != "done" or not turn.reply.strip():
        return False
    calls = turn.tool_calls
    if len(calls) < MIN_TOOL_CALLS or _is_apology(turn.reply):
        return False
    failed = sum(not result.ok for result in calls)
    return failed < len(calls) * MAX_FAILED_SHARE and not _has_denied_repeat(calls)


def _has_denied_repeat(calls: tuple[ToolResult, ...]) -> bool:
    """True if a call was denied that had been made before with the same arguments, as a circuit
    breaker does with a turn that goes in circles."""
    seen: set[str] = set()
    for result in calls:
        key = json.dumps([result.call.name, result.call.arguments], sort_keys=True, default=repr)
        if key in seen and not result.ok and result.text.startswith("Denied: "):
            return True
        seen.add(key)
    return False


def _is_apology(reply: str) -> bool:
    return _apologies().search(reply[:APOLOGY_CHARS].casefold().replace("’", "'")) is not None


@cache
def _apologies() -> re.Pattern[str]:
    text = (Path(__file__).parent / "apologies.yaml").read_text("utf-8")
    by_language = yaml.load(text, Loader=yaml.CSafeLoader)
    phrases = [phrase for language in by_language.values() for phrase in language]
    unspaced = [re.escape(p) for p in phrases if not p.isascii() and not p[0].isascii()]
    whole_words = [re.escape(p) for p in phrases]
    return re.compile(rf"(?<!\w)(?:{'|'.join(whole_words)})(?!\w)|{'|'.join(unspaced)}")
