"""Asks the auxiliary model whether a goal is reached.

Its verdict can stop a goal early. The budget, which is the upper limit, is enforced by code.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from typing import Literal, TypeAlias

from hookline_hookspecs import Host, ProviderError

from .goal_store import Goal

Verdict: TypeAlias = Literal["done", "continue", "blocked"]
SCHEMA = {
    "type": "object",
    "properties": {
        "verdict": {"type": "string", "enum": ["done", "continue", "blocked"]},
        "reason": {"type": "string"},
    },
    "required": ["verdict", "reason"],
    "additionalProperties": False,
}
MAX_JUDGED_CHARS = 8000
"""Of the answer only this much of its end is judged."""
MAX_REASON_CHARS = 300
_OBJECT = re.compile(r"\{.*\}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict with its reason; if ``verdict`` is None, the reason why there is none."""

    verdict: Verdict | None
    reason: str


@cache
def _system() -> str:
    return files(__package__).joinpath("judge.md").read_text("utf-8").strip()


async def judge(host: Host, goal: Goal, session_id: str, reply: str) -> Judgement:
    """Return the model's judgement after this reply. Its cost counts for the session."""
    answer = escape(reply[-MAX_JUDGED_CHARS:], quote=False)
    prompt = f"<goal>\n{escape(goal.goal, quote=False)}\n</goal>\n<answer>\n{answer}\n</answer>"
    try:
        said = await host.ask_model(
            prompt, system=_system(), schema=SCHEMA, max_tokens=400, session_id=session_id
        )
    except (ProviderError, LookupError) as error:
        return Judgement(None, f"the judge could not be asked: {error}"[:MAX_REASON_CHARS])
    return parse_judgement(said)


def parse_judgement(said: str) -> Judgement:
    """Parse the judgement in a model's answer."""
    found = _OBJECT.search(said)
    try:
        value = json.loads(found[0]) if found else None
    except (ValueError, RecursionError):
        value = None
    verdict = value.get("verdict") if isinstance(value, dict) else None
    if not isinstance(value, dict) or verdict not in ("done", "continue", "blocked"):
        return Judgement(None, "the judge gave no verdict")
    reason = " ".join(str(value.get("reason", "")).split())
    return Judgement(verdict, "".join(c for c in reason if c.isprintable())[:MAX_REASON_CHARS])
