"""Hookline's events as hooks of other agents know them, and what comes of their answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hookline_hookspecs import (
    Ask,
    Context,
    ContextBlock,
    Continue,
    Deny,
    Inbound,
    Origin,
    Question,
    QuestionAnswer,
    Refused,
    Session,
    StoredQuestion,
    ToolCall,
    ToolResult,
    Turn,
)
from hookline_hookspecs.parts import is_command
from hookline_hookspecs.questions import ALLOW_ONCE, DENY

from .hook_answers import HookAnswer
from .hook_runner import CONFIG_SOURCE, HookRunner, LoadedHook, Subject, tool_subject
from .tool_names import other_arguments, other_name, other_response, own_arguments

CallTool = Callable[[ToolCall], Awaitable[ToolResult]]
MAX_RESPONSE_CHARS = 100_000
"""Characters of a tool's result that hooks get."""
MAX_WAITING_CONTEXTS = 200
"""Messages whose context waits for their turn."""
Answers = list[tuple[LoadedHook, HookAnswer]]


@dataclass
class _ChangedCalls:
    """Of one turn: the arguments that hooks want, by the call's id, and context for results."""

    arguments: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    applied: set[str] = field(default_factory=set)
    context: dict[str, list[str]] = field(default_factory=dict)


class HookEvents:
    """Runs hooks at Hookline's events."""

    def __init__(self, runner: HookRunner) -> None:
        self._runner = runner
        self._contexts: dict[tuple[str, str, str], list[ContextBlock]] = {}
        """Context for a message's turn, by channel, chat and message id."""

    async def pre_tool(self, ctx: Context, call: ToolCall) -> Deny | Ask | None:
        """``PreToolUse``: the strictest answer counts. ``allow`` does not: other guards decide."""
        if not self._runner.has("PreToolUse"):
            return None
        changes = ctx.stash.of(_ChangedCalls)
        answers = await self._runner.run("PreToolUse", ctx, _subject(call), _call_fields(ctx, call))
        for _, answer in answers:
            if answer.arguments is not None and call.id not in changes.applied:
                before = changes.arguments.get(call.id, call.arguments)
                changes.arguments[call.id] = own_arguments(call.name, answer.arguments, before)
            if answer.context:
                changes.context.setdefault(call.id, []).append(answer.context)
        for verdict, result in (("deny", Deny), ("ask", Ask)):
            found = [one for one in answers if one[1].verdict == verdict]
            if found:
                reason = "; ".join(f"{one.source}: {answer.reason}" for one, answer in found)
                return result(reason)
        return None

    def around_tool(self, ctx: Context, call: ToolCall) -> Callable[..., Any] | None:
        """Make the call with the arguments that a hook wants; every guard is asked again."""
        if not self._runner.has("PreToolUse"):
            return None
        changes = ctx.stash.of(_ChangedCalls)
        if call.id not in changes.arguments:
            return None

        async def changed(call: ToolCall, call_next: CallTool) -> ToolResult:
            arguments = changes.arguments.pop(call.id, None)
            if arguments is None or arguments == call.arguments:
                return await call_next(call)
            changes.applied.add(call.id)
            return await call_next(replace(call, arguments=dict(arguments)))

        return changed

    async def post_tool(self, ctx: Context, result: ToolResult) -> ToolResult | None:
        """``PostToolUse``: a reason to object and context are added to the result."""
        call = result.call
        notes = ctx.stash.of(_ChangedCalls).context.pop(call.id, [])
        event = "PostToolUse" if result.ok else "PostToolUseFailure"
        if self._runner.has(event) and not result.text.startswith("Denied: "):
            fields = _call_fields(ctx, call)
            text = result.text[:MAX_RESPONSE_CHARS]
            arguments = fields["tool_input"]
            fields["tool_response"] = other_response(call.name, text, arguments, ok=result.ok)
            if not result.ok:
                fields["error"] = result.text[:MAX_RESPONSE_CHARS]
            for loaded, answer in await self._runner.run(event, ctx, _subject(call), fields):
                if answer.verdict == "deny":
                    notes.append(f"{loaded.source}: {answer.reason}")
                if answer.context:
                    notes.append(answer.context)
        if not notes:
            return None
        passed = [await _read(ctx, note, f"hooks after {call.name}") for note in notes]
        return replace(result, notes=(*result.notes, *filter(None, passed)))

    async def on_message(self, ctx: Context, inbound: Inbound) -> Deny | None:
        """``UserPromptSubmit``: a hook may refuse a message, or add context to its turn."""
        if not self._runner.has("UserPromptSubmit") or is_command(inbound.text):
            return None
        answers = await self._runner.run(
            "UserPromptSubmit", ctx, Subject(), {"prompt": inbound.text}
        )
        for loaded, answer in answers:
            if answer.verdict == "deny":
                return Deny(f"{loaded.source}: {answer.reason}")
        self._add_context(_message_key(inbound), answers)
        return None

    async def pre_prompt(self, ctx: Context, turn: Turn) -> list[ContextBlock] | None:
        """Return what hooks added for this message, and at the start of the session."""
        keys = (_message_key(turn.inbound), ("session", ctx.session.id, ""))
        blocks = [block for key in keys for block in self._contexts.pop(key, [])]
        passed = [
            replace(block, text=text)
            for block in blocks
            if (text := await _read(ctx, block.text, "hooks"))
        ]
        return passed or None

    async def start_of_session(self, ctx: Context, session: Session) -> None:
        """``SessionStart``: what a hook prints is context for the first turn."""
        if session.kind != "chat" or not self._runner.has("SessionStart"):
            return
        source = "resume" if session.resumed else "startup"
        answers = await self._runner.run(
            "SessionStart", ctx, Subject((source,)), {"source": source, "model": _model(ctx)}
        )
        self._add_context(("session", session.id, ""), answers)

    async def end_of_session(self, ctx: Context, session: Session) -> None:
        """``SessionEnd``."""
        if session.kind == "chat" and self._runner.has("SessionEnd"):
            await self._runner.run("SessionEnd", ctx, Subject(("other",)), {"reason": "other"})

    async def post_answer(self, ctx: Context, turn: Turn) -> list[Continue] | None:
        """``Stop`` and ``SubagentStop``: with a reason not to stop, the model goes on."""
        event = {"chat": "Stop", "agent": "SubagentStop"}.get(ctx.session.kind)
        if event is None or not self._runner.has(event):
            return None
        fields = {"stop_hook_active": turn.continued > 0, "last_assistant_message": turn.reply}
        found = []
        for loaded, answer in await self._runner.run(event, ctx, Subject(), fields):
            # `"continue": false` asks to stop, which the turn is about to do.
            if answer.verdict == "deny" and not answer.stops:
                reason = await _read(ctx, answer.reason, f"hooks of {loaded.source}")
                found.append(Continue(f"{loaded.source}: {reason}", _origins(loaded)))
        return found or None

    async def pre_compact(self, ctx: Context, session: Session) -> None:
        """``PreCompact``."""
        if self._runner.has("PreCompact"):
            fields = {"trigger": "auto", "custom_instructions": ""}
            await self._runner.run("PreCompact", ctx, Subject(("auto",)), fields)

    async def question_opened(self, ctx: Context, question: StoredQuestion) -> None:
        """``Notification``."""
        kind = "permission_prompt" if question.kind == "approval" else "elicitation_dialog"
        fields = {"message": question.text, "notification_type": kind, "title": "Hookline"}
        await self._runner.run("Notification", ctx, Subject((kind,)), fields)

    async def on_question(self, ctx: Context, question: Question) -> QuestionAnswer | None:
        """``PermissionRequest``: a hook may deny. Only one of config.yaml may allow: a bundle does
        not decide what the person is asked about."""
        call = question.call
        if call is None or question.kind != "approval":
            return None
        if not self._runner.has("PermissionRequest"):
            return None
        answers = await self._runner.run(
            "PermissionRequest", ctx, _subject(call), _call_fields(ctx, call)
        )
        for loaded, answer in answers:
            if answer.verdict == "deny":
                return QuestionAnswer(DENY, answer.reason, f"hook:{loaded.source}")
        for loaded, answer in answers:
            if answer.verdict == "allow" and loaded.source == CONFIG_SOURCE:
                return QuestionAnswer(ALLOW_ONCE, "", f"hook:{loaded.source}")
        return None

    def _add_context(self, key: tuple[str, str, str], answers: Answers) -> None:
        blocks = [
            ContextBlock("hooks", items=(), text=answer.context, origins=_origins(one))
            for one, answer in answers
            if answer.context
        ]
        if blocks:
            while len(self._contexts) >= MAX_WAITING_CONTEXTS:
                self._contexts.pop(next(iter(self._contexts)))
            self._contexts[key] = blocks


def _origins(loaded: LoadedHook) -> tuple[Origin, ...]:
    return () if loaded.source == CONFIG_SOURCE else (Origin("workspace", loaded.source),)


def _subject(call: ToolCall) -> Subject:
    return tool_subject(call, other_name(call.name))


def _call_fields(ctx: Context, call: ToolCall) -> dict[str, Any]:
    """The fields about a tool call; ``hookline`` has it as Hookline names it."""
    return {
        "tool_name": other_name(call.name),
        "tool_input": other_arguments(call.name, call.arguments, ctx.paths.workspace),
        "tool_use_id": call.id,
        "hookline": {"tool": call.name, "arguments": dict(call.arguments)},
    }


def _message_key(inbound: Inbound) -> tuple[str, str, str]:
    return inbound.channel, inbound.chat_id, inbound.message_id


def _model(ctx: Context) -> str:
    try:
        return ctx.model
    except Exception:  # no model is configured, which the turn itself says
        return ""


async def _read(ctx: Context, text: str, source: str) -> str:
    """Pass text of a hook through ``pre_read``; empty if it is refused."""
    try:
        return await ctx.read(text, source, kind="tool")
    except Refused as error:
        ctx.notify(f"Text of {source} was left out: {error}")
        return ""
