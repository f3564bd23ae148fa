"""The verdict of the rules on a call, in the words of a guard."""

from __future__ import annotations

from hookline_hookspecs import (
    Ask,
    Checkpoints,
    CommandCheck,
    Context,
    Deny,
    Host,
    RuleVerdict,
    ToolCall,
)

from .rule_set import Decision
from .rules import PACKAGED

MAX_PART_CHARS = 200
"""Characters of a command's part in a sentence; a question shows the whole command below."""


def rule_verdict(decision: Decision) -> RuleVerdict:
    """The decision as other parts read it."""
    rule = decision.rule
    if rule is None or decision.kind is None:
        return RuleVerdict()
    by_person = rule.where != PACKAGED
    answers = decision.kind == "allow" and (by_person or rule.reads)
    return RuleVerdict(decision.kind, rule.text, rule.where, rule.why, answers)


def is_allowed_by_person(decision: Decision) -> bool:
    """True if an allow rule that a person wrote covers the call."""
    rule = decision.rule
    return decision.kind == "allow" and rule is not None and rule.where != PACKAGED


def denied(decision: Decision) -> Deny:
    """The refusal of a deny rule."""
    rule = decision.rule
    assert rule is not None
    part = f"`{_shortened(decision.part)}`" if decision.part else "this call"
    if rule.where == PACKAGED:
        return Deny(f"{part} {rule.why}, which cannot be undone")
    return Deny(f"the rule {rule.text} in {rule.where} denies {part}")


async def question(ctx: Context, call: ToolCall, decision: Decision) -> Ask | None:
    """The question of an ask rule; None if a checkpoint brings back what the call destroys, or if
    the command's own guard asks or denies already."""
    rule = decision.rule
    assert rule is not None
    command = call.arguments.get("command")
    preview = command if isinstance(command, str) else ""
    part = f"`{_shortened(decision.part)}`" if decision.part else call.name
    if rule.where != PACKAGED:
        return Ask(f"the rule {rule.text} in {rule.where} asks about {part}", preview)
    if is_judged(ctx.host, ctx, call) or (rule.restorable and await _is_saved(ctx)):
        return None
    return Ask(f"{part} {rule.why}", preview)


def is_judged(host: Host, ctx: Context, call: ToolCall) -> bool:
    """True if the guard of commands denies or asks itself, checkpoint or not."""
    check = host.services.get(CommandCheck)
    checked = check.check(call, ctx.paths, ctx) if check is not None else None
    return checked is not None and checked.verdict is not None and not checked.restorable


async def _is_saved(ctx: Context) -> bool:
    checkpoints = ctx.host.services.get(Checkpoints)
    return checkpoints is not None and await checkpoints.hold(ctx)


def _shortened(text: str) -> str:
    one_line = " ".join(text.split()).replace("`", "'")
    return one_line if len(one_line) <= MAX_PART_CHARS else one_line[: MAX_PART_CHARS - 1] + "…"
