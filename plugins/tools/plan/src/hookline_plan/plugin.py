"""The plugin: the tool ``plan``, the command ``/plan``, and the plan of each session.

A plan is stored under its session's id. The model reads it in its own call as long as the history
contains that call. After a compaction has removed it, the plan is added to the context of the next
turn, or of the running one, whose history has changed anyway. So nothing changes that a provider
has cached.

The tool's result has ``data = {"board": …, "steps": …}``. A ``board`` tells channels that
:attr:`ToolResult.shown` replaces the text shown before.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from html import escape
from typing import Any

from hookline_hookspecs import (
    Compacted,
    Context,
    ContextBlock,
    HooklineError,
    Message,
    ModelRequest,
    Plugin,
    Session,
    Tool,
    ToolError,
    ToolOutput,
    Turn,
    command,
    hookimpl,
)
from hookline_hookspecs.sentences import N_

from . import steps as plans
from .steps import STATES, PlanStep

TOOL = "plan"
CONTEXT_TAG = "plan"
"""The context block that holds a plan."""
MAX_CACHED_PLANS = 1024
"""Sessions whose plans are kept in memory."""
SCHEMA = {
    "type": "object",
    "properties": {
        "steps": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "text": {"type": "string"},
                    "state": {"type": "string", "enum": list(STATES)},
                },
                "required": ["text", "state"],
            },
        }
    },
    "required": ["steps"],
}
NO_PLAN = N_("There is no plan. The model makes one for work of several steps; you can ask it to.")
USAGE = N_(
    "/plan shows the plan, /plan clear deletes it. To plan before anything changes: /mode plan."
)


class Plans(Plugin):
    """One plan for each session."""

    @hookimpl
    def setup(self, host: Any) -> None:
        """Create the cache; a plan is loaded when its session resumes."""
        self._plans: OrderedDict[str, tuple[PlanStep, ...]] = OrderedDict()
        self._compacted: set[str] = set()
        """Sessions whose history was compacted since their last request."""
        self._write_lock = asyncio.Lock()
        host.signals.connect("compacted", self._on_compacted)

    @hookimpl
    def register_tools(self, register: Callable[[Tool], None]) -> None:
        """Register the tool with a short schema."""
        about = (
            "Keep a todo list for work of several steps; the person sees it. Give the whole list "
            "each time, and mark a step done at once."
        )
        # Read-only: it changes nothing but the list, and may be called again after a crash.
        options: dict[str, Any] = {"read_only": True, "main_only": True, "origin": "workspace"}
        register(Tool(TOOL, about, self.plan, parameters=SCHEMA, **options))

    async def plan(self, ctx: Context, steps: Any = None, **unknown: Any) -> ToolOutput:
        """Replace the plan by the model's list."""
        if unknown:
            raise ToolError(f"plan has no argument {sorted(unknown)[0]!r}; it takes steps")
        plan_steps = plans.parse(steps)
        await self._save(ctx.session.id, plan_steps)
        data = {"board": plans.summary(plan_steps), "steps": plans.to_json(plan_steps)}
        if not plan_steps:
            return ToolOutput("The plan is empty.", data=data, shown="The plan is empty.")
        text = f"Plan: {plans.progress(plan_steps)}."
        return ToolOutput(text, data=data, shown=plans.board(plan_steps))

    @command("/plan", audience="everyone", immediate=True, category="Conversation")
    async def show(self, ctx: Context, args: str) -> str:
        """Show the plan, or delete it: /plan clear."""
        what = args.strip().casefold()
        if what == "clear":
            await self._save(ctx.session.id, ())
            return "The plan was deleted."
        if what:
            return USAGE
        plan_steps = await self._load(ctx.session.id) if ctx.session.id else ()
        if not plan_steps:
            return NO_PLAN
        terminal = ctx.channel == "terminal"
        return plans.board(plan_steps) if terminal else plans.as_markdown(plan_steps)

    @hookimpl
    async def start_of_session(self, ctx: Context, session: Session) -> None:
        """Load the plan of a resumed session; a new one has none."""
        if not session.resumed:
            self._cache(session.id, ())
        elif session.kind == "chat":
            self._plans.pop(session.id, None)
            await self._load(session.id)

    @hookimpl
    async def pre_prompt(self, ctx: Context, turn: Turn) -> ContextBlock | None:
        """Add the plan to the context if the history no longer contains it."""
        plan_steps = await self._load(turn.session.id)
        return self._block(plan_steps) if _is_missing(plan_steps, ctx.history) else None

    @hookimpl(trylast=True)
    async def pre_model(self, ctx: Context, request: ModelRequest) -> ModelRequest | None:
        """Add the plan if the history was compacted during the turn."""
        if request.purpose != "turn" or ctx.session.id not in self._compacted:
            return None
        self._compacted.discard(ctx.session.id)
        plan_steps = await self._load(ctx.session.id)
        if not _is_missing(plan_steps, request.messages):
            return None
        others = tuple(block for block in request.context if block.tag != CONTEXT_TAG)
        return replace(request, context=(*others, self._block(plan_steps)))

    def _on_compacted(self, event: Compacted, ctx: Any = None) -> None:
        self._compacted.add(event.session.id)

    def _block(self, plan_steps: tuple[PlanStep, ...]) -> ContextBlock:
        return ContextBlock(CONTEXT_TAG, _context_text(plan_steps))

    async def _load(self, session_id: str) -> tuple[PlanStep, ...]:
        """A session's plan, from memory or the store; none if it cannot be read."""
        found = self._plans.get(session_id)
        if found is None:
            try:
                value = await self.host.storage.kv.get(session_id)
            except HooklineError as error:
                self.log.warning("the plan of session %s cannot be read: %s", session_id, error)
                return ()
            found = self._cache(session_id, plans.from_json(value))
        return found

    async def _save(self, session_id: str, plan_steps: tuple[PlanStep, ...]) -> None:
        """Store a plan; of several calls in one response the last one counts."""
        async with self._write_lock:
            if plan_steps:
                await self.host.storage.kv.set(session_id, plans.to_json(plan_steps))
            else:
                await self.host.storage.kv.delete(session_id)
            self._cache(session_id, plan_steps)

    def _cache(self, session_id: str, plan_steps: tuple[PlanStep, ...]) -> tuple[PlanStep, ...]:
        self._plans[session_id] = plan_steps
        self._plans.move_to_end(session_id)
        while len(self._plans) > MAX_CACHED_PLANS:
            self._plans.popitem(last=False)
        return plan_steps


def _is_missing(plan_steps: tuple[PlanStep, ...], history: tuple[Message, ...]) -> bool:
    """Whether the plan is unfinished and not in the history, as a call or a context block."""
    if not plan_steps or plans.is_finished(plan_steps):
        return False
    text = escape(_context_text(plan_steps), quote=False)
    for message in reversed(history):
        for call in message.tool_calls:
            if call.name == TOOL and call.error is None:
                if (given := plans.from_json(call.arguments.get("steps"))) == plan_steps:
                    return False
                if given:
                    return True
        if text in message.context:
            return False
    return True


def _context_text(plan_steps: tuple[PlanStep, ...]) -> str:
    return f"Your todo list, as you gave it to the tool {TOOL}:\n{plans.for_model(plan_steps)}"
