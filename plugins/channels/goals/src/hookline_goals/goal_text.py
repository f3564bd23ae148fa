"""Texts about goals, for people and the model."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.prices import format_money
from hookline_hookspecs.sentences import N_
from hookline_hookspecs.visible_text import code_span
from hookline_hookspecs.web import tn

from .config import GoalsConfig
from .goal_store import Goal

MAX_LINE_CHARS = 100
"""Characters of a goal on one line."""
STATES = {
    "active": N_("active"),
    "paused": N_("paused"),
    "over": N_("paused, its budget is used up"),
    "blocked": N_("waits for you"),
    "done": N_("reached"),
    "cleared": N_("ended"),
}
USAGE = "\n".join(
    (
        N_("/goal TEXT works on a goal in this chat, turn after turn."),
        N_(
            "/goal shows its state; /goal pause, /goal resume and /goal clear change it. "
            "For a background goal, add its id."
        ),
        N_("/background TEXT works on one in a session of its own and reports at the end."),
    )
)


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
    is_background = goal.kind == "background"
    return N_(f"Background goal {goal.id}") if is_background else N_(f"Goal {goal.id}")


def accepted(goal: Goal, config: GoalsConfig, *, ends: bool = False) -> str:
    """Return the answer to the command that sets a goal; ``ends``: the process ends after it."""
    money = f", {format_money(config.dollars)}" if config.dollars else ""
    if ends:
        where = f"{N_('This process ends now.')} {continuing(goal)}"
    elif goal.kind == "background":
        where = N_("It runs alongside this chat and reports when it ends.")
    else:
        where = N_("Your messages are answered between its turns; /stop pauses it.")
    limits = N_(
        f"At most {config.turns} turns, {config.tokens:,} tokens{money} and "
        f"{config.minutes:g} minutes."
    )
    return "\n".join([f"{name(goal)} · {N_('set')}", limits, where])


def continuing(goal: Goal) -> str:
    """Return what continues a goal whose process has ended."""
    if goal.channel != TERMINAL:
        return N_("`hookline gateway` continues it.")
    if goal.kind == "goal":
        session = goal.address.get("session_id") or goal.session_id
        return N_(f"`hookline chat --session {session}` continues it after your first message.")
    return N_(
        f"`hookline chat` in {goal.workspace} continues it after your first message and reports "
        "when it ends."
    )


def line(goal: Goal, config: GoalsConfig, *, is_alone: bool = False) -> str:
    """Return the state of a goal; ``is_alone``: the process that worked on it has ended."""
    money = f", {format_money(goal.dollars)}" if goal.dollars else ""
    used = (
        N_(f"{goal.turns} of {config.turns} turns"),
        N_(f"{goal.tokens:,} of {config.tokens:,} tokens{money}"),
        N_(f"{goal.seconds / 60:.1f} of {config.minutes:g} minutes"),
    )
    why = f"\n  {goal.reason}" if goal.reason else ""
    if is_alone:
        why += f"\n  {N_('No process works on it now.')} {continuing(goal)}"
    state = N_("set") if is_alone else STATES[goal.state]
    return f"{name(goal)} · {state} · {code_span(short(goal.goal))}\n  {' · '.join(used)}{why}"


def report(goal: Goal) -> str:
    """Return the report for the chat when a goal stops."""
    parts = (name(goal), STATES[goal.state], _turns(goal.turns), code_span(short(goal.goal)))
    lines = [" · ".join(parts)]
    if goal.reason:
        lines.append(goal.reason)
    if goal.denied:
        lines.append(N_(f"Denied, because no one could approve it: {', '.join(goal.denied)}."))
    if goal.kind == "background" and goal.answer.strip():
        lines.append(f"\n{goal.answer.strip()}")
    if goal.state in ("paused", "over", "blocked"):
        id_ = f" {goal.id}" if goal.kind == "background" else ""
        lines.append(N_(f"/goal resume{id_} continues it, /goal clear{id_} ends it."))
    return "\n".join(lines)


def _turns(number: int) -> str:
    return tn("{n} turn", "{n} turns", number)


def over(goal: Goal, config: GoalsConfig) -> str:
    """Return a sentence about the budget that a goal has used up; empty for none."""
    if config.dollars is not None and goal.dollars >= config.dollars:
        return N_(f"It has used {format_money(goal.dollars)} of {format_money(config.dollars)}.")
    if goal.tokens >= config.tokens:
        return N_(f"It has used {goal.tokens:,} of {config.tokens:,} tokens.")
    if goal.turns >= config.turns:
        return tn("It has used its {n} turn.", "It has used its {n} turns.", config.turns)
    if goal.seconds >= config.minutes * 60:
        return N_(f"It has used its {config.minutes:g} minutes.")
    return ""
