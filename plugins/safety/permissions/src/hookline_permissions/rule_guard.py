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
from hookline_hookspecs.sentences import N_

from .quoted_parts import quoted_parts
from .rule_set import Decision, OutsidePart
from .rules import PACKAGED

MAX_PART_CHARS = 200
"""Characters of a command's part in a sentence; a question shows the whole command below."""


def rule_verdict(decision: Decision, outside: OutsidePart | None) -> RuleVerdict:
    """The decision as other parts read it; ``outside`` is the part that needs the machine."""
    rule = decision.rule
    part, why = (outside.text, outside.why) if outside is not None else ("", "")
    if rule is None or decision.kind is None:
        return RuleVerdict(outside=part, outside_why=why)
    return RuleVerdict(decision.kind, rule.text, rule.where, rule.why, part, why)


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
        return Deny(f"{part} " + N_(f"{rule.why}, which cannot be undone"))
    return Deny(f"the rule {rule.text} in {rule.where} denies {part}")


async def question(ctx: Context, call: ToolCall, decision: Decision) -> Ask | None:
    """The question of an ask rule; None if what the call destroys can be brought back."""
    rule = decision.rule
    assert rule is not None
    command = call.arguments.get("command")
    preview = command if isinstance(command, str) else ""
    part = f"`{_shortened(decision.part)}`" if decision.part else call.name
    marks = quoted_parts(preview, part) if decision.part else ()
    if rule.where != PACKAGED:
        reason = N_(f"the rule {rule.text} in {rule.where} asks about {part}")
        return Ask(reason, preview, marks=marks)
    if rule.restorable and await _is_saved(ctx):
        return None
    return Ask(f"{part} {rule.why}", preview, marks=marks, once=rule.once)


def is_sandboxed(host: Host, ctx: Context, call: ToolCall) -> bool:
    """True if a command would run in the sandbox."""
    check = host.services.get(CommandCheck)
    checked = check.check(call, ctx.paths, ctx) if check is not None else None
    return checked is not None and checked.sandboxed


async def _is_saved(ctx: Context) -> bool:
    checkpoints = ctx.host.services.get(Checkpoints)
    return checkpoints is not None and await checkpoints.hold(ctx, history=True)


def _shortened(text: str) -> str:
    one_line = " ".join(text.split()).replace("`", "'")
    return one_line if len(one_line) <= MAX_PART_CHARS else one_line[: MAX_PART_CHARS - 1] + "…"
