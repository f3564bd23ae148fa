"""Shift-Tab: the next mode of the session."""

from __future__ import annotations

from hookline_hookspecs import HooklineError
from hookline_hookspecs.modes import Mode, Modes
from hookline_hookspecs.services import Services

NEXT: dict[Mode, Mode] = {"ask": "auto", "auto": "plan", "plan": "ask", "yolo": "ask"}
"""The order of the modes; ``yolo`` is chosen by an option only."""
MEANING: dict[Mode, str] = {
    "ask": "every call that changes anything asks first",
    "auto": "only what is risky asks",
    "plan": "nothing is changed",
}
ABSENT = "There are no modes here: the plugin modes is off (hookline plugins enable modes)."


async def next_mode(services: Services, session_id: str) -> str:
    """Set the session's next mode; a sentence about it."""
    modes = services.get(Modes)
    if modes is None:
        return ABSENT
    mode = NEXT[await modes.get(session_id)]
    try:
        await modes.set(session_id, mode)
    except HooklineError as error:
        return str(error)
    return f"Mode {mode}: {MEANING[mode]}."
