"""What a hook's program answered: by its exit code, and by JSON on its standard output."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from .bundle import BundleHook
from .program import ProgramResult

Verdict: TypeAlias = Literal["", "deny", "ask", "allow"]
REFUSED = 2
"""The exit code that refuses; the reason is on standard error."""
GUARDS = frozenset({"PreToolUse", "UserPromptSubmit"})
"""Events at which a hook may refuse. If one fails there, that is a refusal."""
_TEXT_IS_CONTEXT = frozenset({"UserPromptSubmit", "SessionStart"})
"""Events at which plain text on standard output is context for the model."""
MAX_REASON_CHARS = 2_000
MAX_CONTEXT_CHARS = 10_000
"""Characters of context that reach the model (Claude Code has the same limit)."""


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """What one hook answered.

    Attributes:
        verdict: ``deny``, ``ask`` or ``allow``; empty for nothing to say.
        reason: of the verdict, for the model and the person.
        context: text for the model.
        arguments: the call's arguments as the hook wants them, by Claude Code's names.
        notice: text for the person.
        failure: why the hook failed, if that is no refusal.
        stops: it asks to end the turn, by ``"continue": false``.
    """

    verdict: Verdict = ""
    reason: str = ""
    context: str = ""
    arguments: Mapping[str, Any] | None = None
    notice: str = ""
    failure: str = ""
    stops: bool = False


def read_answer(hook: BundleHook, result: ProgramResult) -> HookAnswer:
    """Return what a hook answered."""
    if result.failure:
        return _failed(hook, result.failure)
    if result.exit_code == REFUSED:
        reason = result.stderr.strip() or result.stdout.strip() or "it gave no reason"
        return HookAnswer("deny", reason[:MAX_REASON_CHARS])
    if result.exit_code:
        lines = result.stderr.strip().splitlines()
        why = f"ended with exit code {result.exit_code}{f': {lines[-1][:300]}' if lines else ''}"
        # Other agents go on after such a code, except where the hook asks to be strict.
        return _failed(hook, why) if hook.strict else HookAnswer(failure=why)
    text = result.stdout.strip()
    if not text.startswith("{"):
        is_context = hook.event in _TEXT_IS_CONTEXT
        return HookAnswer(context=text[:MAX_CONTEXT_CHARS]) if is_context else HookAnswer()
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        return _failed(hook, "printed something that begins like JSON and is none")
    return _from_json(hook, answer)


def _failed(hook: BundleHook, why: str) -> HookAnswer:
    if hook.event in GUARDS:
        return HookAnswer("deny", f"the hook failed, and counts as a refusal: it {why}")
    return HookAnswer(failure=why)


def _from_json(hook: BundleHook, answer: Mapping[str, Any]) -> HookAnswer:
    own = answer.get("hookSpecificOutput")
    own = own if isinstance(own, Mapping) else {}
    decision = own.get("decision")
    decision = decision if isinstance(decision, Mapping) else {}
    words = (
        own.get("permissionDecision"),
        decision.get("behavior"),
        answer.get("permission"),
        answer.get("decision"),
        "deny" if answer.get("continue") is False else None,
    )
    verdicts = [_VERDICTS.get(str(word).lower()) for word in words if word is not None]
    if None in verdicts and hook.event in GUARDS:
        return _failed(hook, "gave a decision that is not known")
    strictest: Verdict = next((one for one in _STRICTEST if one in verdicts), "")
    reasons = (
        own.get("permissionDecisionReason"),
        decision.get("message"),
        answer.get("reason"),
        answer.get("stopReason"),
        answer.get("user_message"),
    )
    arguments = own.get("updatedInput", decision.get("updatedInput"))
    return HookAnswer(
        strictest,
        _first_text(*reasons)[:MAX_REASON_CHARS] or ("it gave no reason" if strictest else ""),
        _first_text(own.get("additionalContext"))[:MAX_CONTEXT_CHARS],
        arguments if isinstance(arguments, Mapping) else None,
        _first_text(answer.get("systemMessage"))[:MAX_REASON_CHARS],
        stops=answer.get("continue") is False,
    )


_STRICTEST: tuple[Verdict, ...] = ("deny", "ask", "allow")
_VERDICTS = {
    "deny": "deny",
    "block": "deny",
    "ask": "ask",
    "defer": "ask",
    "allow": "allow",
    "approve": "allow",
}


def _first_text(*values: object) -> str:
    return next((value.strip() for value in values if isinstance(value, str) and value.strip()), "")
