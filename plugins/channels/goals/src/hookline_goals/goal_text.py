"""Texts about goals, for people and the model."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.prices import format_money
from hookline_hookspecs.sentences import N_

from .config import GoalsConfig
from .goal_store import Goal

MAX_LINE_CHARS = 100
"""Characters of a goal on one line."""
STATES = {
    "active": "is active",
    "paused": "is paused",
    "over": "is paused, its budget is used up",
    "blocked": "waits for you",
    "done": "is reached",
    "cleared": "was cleared",
}
USAGE = """/goal TEXT: work on it turn after turn, in this chat
/goal: show its state; /goal pause, /goal resume, /goal clear: with an id for a background goal
/background TEXT: work on it in its own session, with a report at the end"""


@cache
def _instruction() -> str:
    return files(__package__).joinpath("instruction.md").read_text("utf-8").strip()


def prompt(goal: Goal, config: GoalsConfig) -> str:
    """Return the message of a goal's next turn: only the person's words and Hookline's."""
    if goal.turns == 0 and goal.round == 1:
        return f"Goal: {goal.goal}\n\n({_instruction()})"
    number = f"turn {goal.turns + 1} of at most {config.turns}"
    return f"Continue with the goal ({number}): {goal.goal}\n\n({_instruction()})"


def short(text: str) -> str:
    """Return the beginning of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_LINE_CHARS else line[: MAX_LINE_CHARS - 1].rstrip() + "…"


def name(goal: Goal) -> str:
    """Return the name of a goal, such as ``Goal abc234``."""
    kind = "Background goal" if goal.kind == "background" else "Goal"
    return f"{kind} {goal.id}"


def accepted(goal: Goal, config: GoalsConfig, *, ends: bool = False) -> str:
    """Return the answer to the command that sets a goal; ``ends``: the process ends after it."""
    money = f", {format_money(config.dollars)}" if config.dollars else ""
    if ends:
        where = f"This process ends now: {continuing(goal)}."
    elif goal.kind == "background":
        where = "It runs beside this chat and reports when it ends."
    else:
        where = "Your messages are answered between its turns; /stop pauses it."
    return N_(
        f"{name(goal)} is set: at most {config.turns} turns, {config.tokens:,} tokens{money} and "
        f"{config.minutes:g} minutes. {where}"
    )


def continuing(goal: Goal) -> str:
    """Return what continues a goal whose process has ended."""
    if goal.channel != TERMINAL:
        return N_("`hookline gateway` continues it")
    if goal.kind == "goal":
        session = goal.address.get("session_id") or goal.session_id
        return N_(f"`hookline chat --session {session}` continues it after your first message")
    return N_(
        f"`hookline chat` in {goal.workspace} continues it after your first message, and reports "
        "when it ends"
    )


def line(goal: Goal, config: GoalsConfig, *, is_alone: bool = False) -> str:
    """Return the state of a goal; ``is_alone``: the process that worked on it has ended."""
    money = f", {format_money(goal.dollars)}" if goal.dollars else ""
    used = (
        f"{goal.turns} of {config.turns} turns, "
        f"{goal.tokens:,} of {config.tokens:,} tokens{money}, "
        f"{goal.seconds / 60:.1f} of {config.minutes:g} minutes"
    )
    why = f"\n  {goal.reason}" if goal.reason else ""
    if is_alone:
        why += f"\n  No process works on it now: {continuing(goal)}."
    state = "is set" if is_alone else STATES[goal.state]
    return f"{name(goal)} {state}: {short(goal.goal)}\n  {used}{why}"


def report(goal: Goal) -> str:
    """Return the report for the chat when a goal stops."""
    lines = [f"{name(goal)} {STATES[goal.state]} after {_turns(goal.turns)}: {short(goal.goal)}"]
    if goal.reason:
        lines.append(goal.reason)
    if goal.denied:
        lines.append(f"Denied, because no one could approve it: {', '.join(goal.denied)}.")
    if goal.kind == "background" and goal.answer.strip():
        lines.append(f"\n{goal.answer.strip()}")
    if goal.state in ("paused", "over", "blocked"):
        id_ = f" {goal.id}" if goal.kind == "background" else ""
        lines.append(f"/goal resume{id_} continues it, /goal clear{id_} ends it.")
    return "\n".join(lines)


def _turns(number: int) -> str:
    return "1 turn" if number == 1 else f"{number} turns"


def over(goal: Goal, config: GoalsConfig) -> str:
    """Return a sentence about the budget that a goal has used up; empty for none."""
    if config.dollars is not None and goal.dollars >= config.dollars:
        return N_(f"It has used {format_money(goal.dollars)} of {format_money(config.dollars)}.")
    if goal.tokens >= config.tokens:
        return N_(f"It has used {goal.tokens:,} of {config.tokens:,} tokens.")
    if goal.turns >= config.turns:
        return N_(f"It has used its {_turns(config.turns)}.")
    if goal.seconds >= config.minutes * 60:
        return N_(f"It has used its {config.minutes:g} minutes.")
    return ""
