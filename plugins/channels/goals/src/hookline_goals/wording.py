"""What people and the model read about goals."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.prices import format_money

from .config import GoalsConfig
from .records import Goal

QUIET = 100
"""Characters of a goal in a line."""
STATES = {
    "active": "is worked on",
    "paused": "is paused",
    "over": "is paused, its budget is used up",
    "blocked": "waits for you",
    "done": "is reached",
    "cleared": "was given up",
}
USAGE = """/goal TEXT: work on it turn after turn, in this chat
/goal: how it stands; /goal pause, /goal resume, /goal clear: with an id for one in the background
/background TEXT: the same in a session of its own, with a report at the end"""


@cache
def _instruction() -> str:
    return files(__package__).joinpath("instruction.md").read_text("utf-8").strip()


def prompt(goal: Goal, config: GoalsConfig) -> str:
    """The message of a goal's next turn. It holds nothing but the person's words and Hookline's."""
    if goal.turns == 0 and goal.round == 1:
        return f"Goal: {goal.goal}\n\n({_instruction()})"
    number = f"turn {goal.turns + 1} of at most {config.turns}"
    return f"Go on with the goal ({number}): {goal.goal}\n\n({_instruction()})"


def short(text: str) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= QUIET else line[: QUIET - 1].rstrip() + "…"


def name(goal: Goal) -> str:
    """How a goal is called."""
    kind = "Background goal" if goal.kind == "background" else "Goal"
    return f"{kind} {goal.id}"


def accepted(goal: Goal, config: GoalsConfig, *, ends: bool = False) -> str:
    """The answer to the command that sets a goal; ``ends``: the process ends after it."""
    money = f", {format_money(config.dollars)}" if config.dollars else ""
    where = (
        f"Nothing works on it after this command: {continuing(goal)}."
        if ends
        else "It runs beside this chat and reports when it ends."
        if goal.kind == "background"
        else "What you write meanwhile is answered between its turns; /stop pauses it."
    )
    return (
        f"{name(goal)} is set: at most {config.turns} turns, {config.tokens:,} tokens{money} and "
        f"{config.minutes:g} minutes. {where}"
    )


def continuing(goal: Goal) -> str:
    """What works on a goal whose process has ended."""
    if goal.channel != TERMINAL:
        return "`hookline gateway` goes on with it"
    if goal.kind == "goal":
        session = goal.address.get("session_id") or goal.session_id
        return f"`hookline chat --session {session}` goes on with it once you write there"
    return (
        f"`hookline chat` in {goal.workspace} goes on with it once you write there, and reports "
        "when it ends"
    )


def line(goal: Goal, config: GoalsConfig, *, is_alone: bool = False) -> str:
    """How a goal stands; ``is_alone``: the process that worked on it has ended."""
    money = f", {format_money(goal.dollars)}" if goal.dollars else ""
    used = (
        f"{goal.turns} of {config.turns} turns, "
        f"{goal.tokens:,} of {config.tokens:,} tokens{money}, "
        f"{goal.seconds / 60:.1f} of {config.minutes:g} minutes"
    )
    why = f"\n  {goal.reason}" if goal.reason else ""
    if is_alone:
        why += f"\n  Nothing works on it now: {continuing(goal)}."
    state = "is set" if is_alone else STATES[goal.state]
    return f"{name(goal)} {state}: {short(goal.goal)}\n  {used}{why}"


def report(goal: Goal) -> str:
    """What the chat is told when a goal stops."""
    lines = [f"{name(goal)} {STATES[goal.state]} after {_turns(goal.turns)}: {short(goal.goal)}"]
    if goal.reason:
        lines.append(goal.reason)
    if goal.denied:
        lines.append(f"Denied, because nobody could approve it: {', '.join(goal.denied)}.")
    if goal.kind == "background" and goal.answer.strip():
        lines.append(f"\n{goal.answer.strip()}")
    if goal.state in ("paused", "over", "blocked"):
        id_ = f" {goal.id}" if goal.kind == "background" else ""
        lines.append(f"/goal resume{id_} goes on, /goal clear{id_} gives it up.")
    return "\n".join(lines)


def _turns(number: int) -> str:
    return "1 turn" if number == 1 else f"{number} turns"


def over(goal: Goal, config: GoalsConfig) -> str:
    """Which budget a goal has used up, as a sentence; empty for none."""
    if config.dollars is not None and goal.dollars >= config.dollars:
        return f"It has used {format_money(goal.dollars)} of {format_money(config.dollars)}."
    if goal.tokens >= config.tokens:
        return f"It has used {goal.tokens:,} of {config.tokens:,} tokens."
    if goal.turns >= config.turns:
        return f"It has used its {_turns(config.turns)}."
    if goal.seconds >= config.minutes * 60:
        return f"It has used its {config.minutes:g} minutes."
    return ""
