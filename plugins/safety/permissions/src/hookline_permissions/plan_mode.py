"""What the model is told of plan mode, and what a person is offered at its end."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from hookline_hookspecs import Context, Deny, Message, ToolCall

ACCEPT, KEEP = "Accept the plan", "Keep planning"
"""The choices under a plan, on channels with buttons; written out they mean the same."""
CARRY_OUT = "Carry out the plan."
OFFER = "/accept carries the plan out; anything else you write goes on planning."


@cache
def text(name: str) -> str:
    """One of the packaged texts for the model."""
    return files(__package__).joinpath(f"{name}.md").read_text("utf-8").strip()


def was_told(history: Iterable[Message]) -> bool:
    """True if the model still reads that it is planning."""
    for message in reversed(list(history)):
        if text("plan_over") in message.context:
            return False
        if text("plan") in message.context or text("plan_agent") in message.context:
            return True
    return False


def denied(call: ToolCall) -> Deny:
    """The refusal of a call that may change something: a sentence for the model and one for the
    person."""
    return Deny(
        f"plan mode: {call.name} may change something, and nothing may be changed before the "
        "person accepts a plan. Go on with tools that only look, and finish with your plan.",
        f"plan mode: nothing is changed before you accept a plan (/accept, or /mode auto), and "
        f"{call.name} may change something.",
    )


def is_offered(ctx: Context, reply_text: str) -> bool:
    """True at the end of a turn whose answer can be accepted as a plan."""
    return ctx.session.kind == "chat" and ctx.turn.stop == "done" and bool(reply_text.strip())
