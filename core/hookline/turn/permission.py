"""Whether a call may run: the guards, a person if one of them asks, and the files that it uses.

What a person approves is the call with its files as they were then (:mod:`.call_files`). If one has
changed when the call is about to begin, the guards and the person are asked again.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from hookline_hookspecs.bound_files import BoundFile, CallFiles, changed_files, describe_changes
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.errors import Refused, StoreError
from hookline_hookspecs.inbound import Inbound
from hookline_hookspecs.messages import ToolCall
from hookline_hookspecs.optional_services import ApprovalPolicy
from hookline_hookspecs.origins import Origin
from hookline_hookspecs.permissions import OfferedScope, PermissionRules
from hookline_hookspecs.questions import ALLOW_ONCE, DENY, Question, QuestionAnswer
from hookline_hookspecs.sentences import N_
from hookline_hookspecs.tool_results import ToolResult
from hookline_hookspecs.tools import Tool
from hookline_hookspecs.verdicts import Answer, Ask, Deny

from .. import clock
from ..engine import Engine
from ..questions.ask import AskResult, ask, same_question
from ..questions.table import AskingCall
from ..sessions.context import TurnContext, detached_context

MAX_QUESTIONS = 4
"""Times that a person is asked about one call whose files change in between."""
HAS_CHANGED = N_("a file that it uses has changed since you were asked")
KEEPS_CHANGING = N_("a file that it uses has changed each time it was approved")


class CallResolved(Exception):
    """The call got a result without being run."""

    def __init__(
        self,
        call: ToolCall,
        text: str,
        *,
        ok: bool = False,
        origins: tuple[Origin, ...] = (),
        shown: str = "",
        invalid: bool = False,
    ) -> None:
        self.result = ToolResult(call, text, ok, origins=origins, shown=shown, invalid=invalid)


@dataclass(frozen=True, slots=True)
class Permission:
    """A permitted call: its fingerprint, and the files as they were when a person approved it.

    ``questions`` counts how often a person was asked.
    """

    fingerprint: str
    files: tuple[BoundFile, ...] = ()
    questions: int = 0


def fingerprint(call: ToolCall) -> str:
    """What an approval covers: the tool with exactly these arguments."""
    return json.dumps([call.name, call.arguments], sort_keys=True, default=repr)


async def is_outdated(permission: Permission) -> bool:
    """True if a file has changed since the call was approved."""
    return bool(await _changes(permission.files))


async def check_permission(
    ctx: TurnContext, tool: Tool, call: ToolCall, earlier: Permission | None = None
) -> Permission:
    """Ask the guards, and a person if necessary, until no file changes meanwhile.

    ``earlier`` is a permission that is outdated.

    Raises:
        CallResolved: the call is denied, or a guard has answered it.
    """
    permission = earlier or Permission(fingerprint(call))
    while True:
        ctx.approved = False
        plugin, verdict = await _ask_guards(ctx, tool, call, permission.fingerprint)
        if isinstance(verdict, Answer):
            raise CallResolved(call, verdict.text, ok=True, origins=verdict.origins or tool.origins)
        if isinstance(verdict, Deny):
            raise _denied(ctx, call, verdict, plugin)
        if verdict is None or ctx.active_turn.mode == "yes":
            return Permission(permission.fingerprint)
        if permission.questions >= MAX_QUESTIONS:
            raise _denied(ctx, call, Deny(KEEPS_CHANGING), plugin)
        approval = await _ask_person(ctx, call, verdict, permission)
        if approval.denial is not None:
            raise _denied(ctx, call, approval.denial, plugin)
        permission = replace(permission, files=approval.files, questions=permission.questions + 1)
        if not await is_outdated(permission):
            ctx.approved = approval.answer is not None
            await approval.remember()
            return permission


async def check_outside_turn(engine: Engine, tool: Tool, arguments: Mapping[str, Any]) -> None:
    """Ask the guards about a call by a program of the operator, outside of a turn.

    Nobody can be asked then, so a question is a refusal too. Raises ``Refused``.
    """
    ctx = detached_context(engine, Inbound(TERMINAL, "default", "", "", "", received=clock.now()))
    ctx.tool = tool
    decision = await engine.bus.guard("pre_tool", ctx, ToolCall("", tool.name, dict(arguments)))
    if isinstance(decision.verdict, Deny):
        raise Refused(decision.verdict.reason)
    if isinstance(decision.verdict, Ask) or tool.approval:
        raise Refused(f"{tool.name} needs the approval of a person")


async def _changes(files: Sequence[BoundFile]) -> list[tuple[BoundFile, BoundFile]]:
    return await asyncio.to_thread(changed_files, files) if files else []


def _denied(ctx: TurnContext, call: ToolCall, denial: Deny, plugin: str) -> CallResolved:
    shown = denial.shown or denial.reason
    ctx.notify(f"{call.name} was refused: {shown}", plugin)
    return CallResolved(call, f"Denied: {denial.reason}", shown=f"Denied: {shown}")


async def _ask_guards(
    ctx: TurnContext, tool: Tool, call: ToolCall, before: str
) -> tuple[str, Deny | Ask | Answer | None]:
    """The strictest verdict, and the plugin that gave it.

    ``before`` is the call's fingerprint. Raises ``CallResolved``.
    """
    checked = replace(call)
    decision = await ctx.engine.bus.guard("pre_tool", ctx, checked)
    if fingerprint(checked) != before:
        raise CallResolved(call, "Denied: a plugin changed the arguments while they were checked")
    if tool.approval and not isinstance(decision.verdict, (Deny, Ask)):
        return tool.plugin, Ask(tool.approval)
    return decision.plugin, decision.verdict


@dataclass(frozen=True, slots=True)
class _Approval:
    """What came of asking a person; without ``denial``, the call is approved for these files."""

    ctx: TurnContext
    question: Question
    files: tuple[BoundFile, ...]
    denial: Deny | None = None
    answer: QuestionAnswer | None = None
    scopes: tuple[OfferedScope, ...] = ()

    async def remember(self) -> None:
        """Store what the person has allowed from now on."""
        answer = self.answer
        if answer is None:
            return
        scope = next((one for one in self.scopes if one.label == answer.choice), None)
        if scope is None:
            return
        if scope.remember is not None:
            await scope.remember()
            return
        view, services = self.ctx.of("core"), self.ctx.engine.services
        if not scope.rules:
            await services[ApprovalPolicy].remember(view, self.question, answer)
            return
        try:
            await services[PermissionRules].add_scope(view, scope, answer.by)
        except StoreError as error:
            self.ctx.notify(
                f"The call is allowed once; {scope.label!r} could not be stored: {error}"
            )


async def _ask_person(
    ctx: TurnContext, call: ToolCall, verdict: Ask, earlier: Permission
) -> _Approval:
    """Ask a person to approve the call, unless an earlier answer covers it."""
    view, services = ctx.of("core"), ctx.engine.services
    files = await services[CallFiles].of_call(view, call)
    scopes = verdict.scopes
    if not scopes and not verdict.once:
        scopes = tuple(await _approval_scopes(ctx, call, verdict))
    preview = _shown(call, verdict)
    reason = verdict.reason[:1].upper() + verdict.reason[1:]
    if changes := await _changes(earlier.files):
        reason = f"{reason.rstrip('.')}; {HAS_CHANGED}"
        preview += f"\n\n{describe_changes(changes, view.paths.workspace)}"
    question = Question(
        text=f"{N_(f'Allow {call.name}?')} {reason}",
        choices=(ALLOW_ONCE, *(scope.label for scope in scopes), DENY),
        preview=preview,
        kind="approval",
        call=replace(call),
        reason=reason,
        marks=verdict.marks,
        covers=("", *(scope.covers for scope in scopes), "") if scopes else (),
        files=files,
    )
    policy = services.get(ApprovalPolicy)
    if policy is not None and not verdict.once and await policy.granted(view, question) is not None:
        return _Approval(ctx, question, files)
    asking, count = _asking_call(ctx, question, earlier.questions, once=verdict.once)
    result = await ask(ctx, _for_all(question, count), asking)
    answer = result.answer
    if answer is None or answer.choice not in question.choices[:-1]:
        return _Approval(ctx, question, files, _denial(verdict.reason.rstrip("."), result))
    return _Approval(ctx, question, result.files, answer=answer, scopes=scopes)


def _shown(call: ToolCall, verdict: Ask) -> str:
    """What the person decides by: the guards' details, then the call as it would be made."""
    command = call.arguments.get("command")
    if verdict.preview:
        shown = verdict.preview
    elif isinstance(command, str) and len(call.arguments) == 1:
        shown = command
    else:
        shown = json.dumps(call.arguments, ensure_ascii=False, indent=1)
    return "\n".join([*verdict.details, "", shown] if verdict.details else [shown])


def _asking_call(
    ctx: TurnContext, question: Question, questions: int, *, once: bool
) -> tuple[AskingCall, int]:
    """The call as the question's owner, and how many identical calls the answer is for."""
    call = question.call
    assert call is not None
    key = partial(_call_key, call, questions)
    if once:
        return AskingCall(key=key(call.id)), 1
    siblings = tuple(map(key, _identical_calls(ctx, call)))
    same_call = same_question(question, fingerprint(call))
    return AskingCall(key=key(call.id), same_call=same_call, siblings=siblings), 1 + len(siblings)


def _call_key(call: ToolCall, questions: int, call_id: str) -> str:
    """Identifies a question about a call with exactly these arguments within its turn."""
    key = f"{call_id}:{hashlib.sha256(fingerprint(call).encode()).hexdigest()[:16]}"
    return f"{key}:{questions}" if questions else key


def _identical_calls(ctx: TurnContext, call: ToolCall) -> list[str]:
    """The ids of the calls of the same response that are the same and have no result yet."""
    requested = {one.id: one for one in ctx.active_turn.entries[-1].message.tool_calls}
    own = requested.get(call.id)
    if own is None:
        return []
    return [
        one.id
        for one in requested.values()
        if one.id != call.id
        and one.id not in ctx.active_turn.finished
        and fingerprint(one) == fingerprint(own)
    ]


def _for_all(question: Question, count: int) -> Question:
    """The question, which says how many identical calls it is about."""
    if count == 1:
        return question
    note = N_(f"The model makes this call {count} times; the answer is for all of them.")
    return replace(question, text=f"{question.text}\n{note}")


async def _approval_scopes(ctx: TurnContext, call: ToolCall, ask: Ask) -> Sequence[OfferedScope]:
    """What the person may allow besides this call: permission rules, or exactly this call."""
    view, services = ctx.of("core"), ctx.engine.services
    rules, policy = services.get(PermissionRules), services.get(ApprovalPolicy)
    if ask.answered_by_rules and rules is not None:
        offered: Sequence[OfferedScope] = await rules.offered_scopes(view, call)
        return offered
    labels = await policy.scopes(view, call) if policy is not None else ()
    return [OfferedScope(label, (), "") for label in labels]


def _denial(reason: str, result: AskResult) -> Deny:
    """The refusal of a call that nobody approved: a sentence for the model, and one to show."""
    if result.why in ("nobody", "unreachable"):
        shown = f"{reason}; {N_('no one can approve it.')}"
        return Deny(f"{shown} Find another way, or stop and say so.", shown)
    if result.why == "expired":
        shown = f"{reason}; {N_('no one approved it in time.')}"
        return Deny(f"{shown} Do not try it again in another form.", shown)
    if result.answer is not None and result.answer.words:
        words = result.answer.words
        return Deny(
            f"{reason}; the person did not approve it and says: {words}",
            f"{reason}; " + N_(f"it was denied: {words}"),
        )
    return Deny(
        f"{reason}; the person did not approve it. Do not try it again in another form.",
        f"{reason}; {N_('it was not approved.')}",
    )
