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
MAX_ANSWER_CHARS = 8000
"""Only the end of the answer is checked."""
MAX_REASON_CHARS = 300
_OBJECT = re.compile(r"\{.*\}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class GoalCheck:
    """A verdict with its reason; if ``verdict`` is None, the reason why there is none."""

    verdict: Verdict | None
    reason: str


@cache
def _system() -> str:
    return files(__package__).joinpath("goal_check.md").read_text("utf-8").strip()


async def check_goal(host: Host, goal: Goal, session_id: str, reply: str) -> GoalCheck:
    """Return the model's verdict on the goal after this reply. Its cost counts for the session."""
    ending = escape(reply[-MAX_ANSWER_CHARS:], quote=False)
    prompt = f"<goal>\n{escape(goal.goal, quote=False)}\n</goal>\n<answer>\n{ending}\n</answer>"
    try:
        answer = await host.ask_model(
            prompt, system=_system(), schema=SCHEMA, max_tokens=400, session_id=session_id
        )
    except (ProviderError, LookupError) as error:
        return GoalCheck(None, f"the goal check failed: {error}"[:MAX_REASON_CHARS])
    return parse_goal_check(answer)


def parse_goal_check(answer: str) -> GoalCheck:
    """Parse the verdict in a model's answer."""
    found = _OBJECT.search(answer)
    try:
        value = json.loads(found[0]) if found else None
    except (ValueError, RecursionError):
        value = None
    verdict = value.get("verdict") if isinstance(value, dict) else None
    if not isinstance(value, dict) or verdict not in ("done", "continue", "blocked"):
        return GoalCheck(None, "the goal check gave no verdict")
    reason = " ".join(str(value.get("reason", "")).split())
    return GoalCheck(verdict, "".join(c for c in reason if c.isprintable())[:MAX_REASON_CHARS])
