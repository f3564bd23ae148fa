"""Asks the auxiliary model whether a goal is reached.

Its word decides between going on and stopping early; when a goal stops at the latest is decided by
code.
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

from .records import Goal

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
READ = 8000
"""Characters of the answer that are judged: its end."""
LONGEST = 300
"""Characters of a reason."""
_OBJECT = re.compile(r"\{.*\}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Judgement:
    """``verdict`` is None if there is none, and ``reason`` then says why."""

    verdict: Verdict | None
    reason: str


@cache
def _system() -> str:
    return files(__package__).joinpath("judge.md").read_text("utf-8").strip()


async def judge(host: Host, goal: Goal, session_id: str, reply: str) -> Judgement:
    """Return what the model says of the goal after this reply. The session is charged."""
    answer = escape(reply[-READ:], quote=False)
    prompt = f"<goal>\n{escape(goal.goal, quote=False)}\n</goal>\n<answer>\n{answer}\n</answer>"
    try:
        said = await host.ask_model(
            prompt, system=_system(), schema=SCHEMA, max_tokens=400, session_id=session_id
        )
    except (ProviderError, LookupError) as error:
        return Judgement(None, f"the judge could not be asked: {error}"[:LONGEST])
    return read(said)


def read(said: str) -> Judgement:
    """Return the judgement in a model's answer."""
    found = _OBJECT.search(said)
    try:
        value = json.loads(found[0]) if found else None
    except (ValueError, RecursionError):
        value = None
    verdict = value.get("verdict") if isinstance(value, dict) else None
    if not isinstance(value, dict) or verdict not in ("done", "continue", "blocked"):
        return Judgement(None, "the judge gave no verdict")
    reason = " ".join(str(value.get("reason", "")).split())
    return Judgement(verdict, "".join(c for c in reason if c.isprintable())[:LONGEST])
