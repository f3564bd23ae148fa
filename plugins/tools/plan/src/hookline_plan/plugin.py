"""The plugin: the tool ``plan``, the command ``/plan``, and the plan of each session.

A plan is stored under its session's id. The model reads its own call for as long as the history
holds it. When the call is gone, after a compaction, the plan is put into the context of the turn:
at the beginning of the next one, or at once into the running one, whose requests begin anew then
anyway. So no byte changes that a provider has cached.

The result of the tool carries ``data = {"board": …, "steps": …}`` with the plan in a line, by which
channels know that :attr:`ToolResult.shown` is a text that takes the place of the one before.
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

from . import steps as plans
from .steps import STATES, Step

TOOL = "plan"
TAG = "plan"
"""The context block that holds a plan."""
MOST = 1024
"""Sessions whose plans are remembered in memory."""
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
NONE = "There is no plan. The model makes one for work of several steps; you can ask it to."
USAGE = "/plan shows the plan, /plan clear forgets it. To plan before anything changes: /mode plan."


class Plans(Plugin):
    """Keeps a plan for each session."""

    @hookimpl
    def setup(self, host: Any) -> None:
        """Begin with nothing; a plan is read when its session goes on."""
        self._known: OrderedDict[str, tuple[Step, ...]] = OrderedDict()
        self._compacted: set[str] = set()
        """Sessions whose history was compacted since their last request."""
        self._writing = asyncio.Lock()
        host.signals.connect("compacted", self._was_compacted)

    @hookimpl
    def register_tools(self, register: Callable[[Tool], None]) -> None:
        """Register the tool with a schema that is as short as it can be."""
        about = (
            "Keep a todo list for work of several steps; the person sees it. Give the whole list "
            "each time, and mark a step done at once."
        )
        # Read-only: it changes nothing but the list, and may be called again after a crash.
        options: dict[str, Any] = {"read_only": True, "main_only": True, "origin": "workspace"}
        register(Tool(TOOL, about, self.plan, parameters=SCHEMA, **options))

    async def plan(self, ctx: Context, steps: Any = None, **unknown: Any) -> ToolOutput:
        """Take the model's list in place of the one before."""
        if unknown:
            raise ToolError(f"plan has no argument {sorted(unknown)[0]!r}; it takes steps")
        made = plans.parse(steps)
        await self._keep(ctx.session.id, made)
        data = {"board": plans.gist(made), "steps": plans.to_json(made)}
        if not made:
            return ToolOutput("The plan is empty.", data=data, shown="The plan is empty.")
        return ToolOutput(f"Plan: {plans.progress(made)}.", data=data, shown=plans.board(made))

    @command("/plan", audience="everyone", immediate=True, category="Conversation")
    async def show(self, ctx: Context, args: str) -> str:
        """Show the plan: /plan, or forget it: /plan clear."""
        what = args.strip().casefold()
        if what == "clear":
            await self._keep(ctx.session.id, ())
            return "The plan is forgotten."
        if what:
            return USAGE
        made = await self._of(ctx.session.id) if ctx.session.id else ()
        if not made:
            return NONE
        return plans.board(made) if ctx.channel == "terminal" else plans.as_markdown(made)

    # What the model knows

    @hookimpl
    async def start_of_session(self, ctx: Context, session: Session) -> None:
        """Read the plan of a session that goes on; a new one has none."""
        if not session.resumed:
            self._remember(session.id, ())
        elif session.kind == "chat":
            self._known.pop(session.id, None)
            await self._of(session.id)

    @hookimpl
    async def pre_prompt(self, ctx: Context, turn: Turn) -> ContextBlock | None:
        """Tell the model a plan that its history does not hold any more."""
        made = await self._of(turn.session.id)
        return self._block(made) if _is_missing(made, ctx.history) else None

    @hookimpl(trylast=True)
    async def pre_model(self, ctx: Context, request: ModelRequest) -> ModelRequest | None:
        """The same where the history has been compacted within the turn."""
        if request.purpose != "turn" or ctx.session.id not in self._compacted:
            return None
        self._compacted.discard(ctx.session.id)
        made = await self._of(ctx.session.id)
        if not _is_missing(made, request.messages):
            return None
        others = tuple(block for block in request.context if block.tag != TAG)
        return replace(request, context=(*others, self._block(made)))

    def _was_compacted(self, event: Compacted, ctx: Any = None) -> None:
        self._compacted.add(event.session.id)

    def _block(self, made: tuple[Step, ...]) -> ContextBlock:
        return ContextBlock(TAG, _told(made))

    # What is stored

    async def _of(self, session_id: str) -> tuple[Step, ...]:
        """A session's plan, from memory or the store; none where that cannot be read."""
        found = self._known.get(session_id)
        if found is None:
            try:
                value = await self.host.storage.kv.get(session_id)
            except HooklineError as error:
                self.log.warning("the plan of session %s cannot be read: %s", session_id, error)
                return ()
            found = self._remember(session_id, plans.stored(value))
        return found

    async def _keep(self, session_id: str, made: tuple[Step, ...]) -> None:
        """Store a plan; of several calls in one response the last one stands."""
        async with self._writing:
            if made:
                await self.host.storage.kv.set(session_id, plans.to_json(made))
            else:
                await self.host.storage.kv.delete(session_id)
            self._remember(session_id, made)

    def _remember(self, session_id: str, made: tuple[Step, ...]) -> tuple[Step, ...]:
        self._known[session_id] = made
        self._known.move_to_end(session_id)
        while len(self._known) > MOST:
            self._known.popitem(last=False)
        return made


def _is_missing(made: tuple[Step, ...], history: tuple[Message, ...]) -> bool:
    """Whether something is left to do, and the model reads neither its call nor the context block
    with this very plan."""
    if not made or plans.is_finished(made):
        return False
    told = escape(_told(made), quote=False)
    for message in reversed(history):
        for call in message.tool_calls:
            if call.name == TOOL and call.error is None:
                if (given := plans.stored(call.arguments.get("steps"))) == made:
                    return False
                if given:
                    return True
        if told in message.context:
            return False
    return True


def _told(made: tuple[Step, ...]) -> str:
    return f"Your todo list, as you gave it to the tool {TOOL}:\n{plans.for_model(made)}"
