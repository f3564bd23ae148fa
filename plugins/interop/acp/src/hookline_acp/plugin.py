"""The plugin: its command, and the hooks through which a turn reaches the editor."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hookline_hookspecs import (
    Context,
    ContextBlock,
    HooklineError,
    Host,
    NoConfig,
    Plugin,
    Question,
    ToolCall,
    ToolResult,
    Turn,
    hookimpl,
)

from .link import Link

if TYPE_CHECKING:
    from hookline_hookspecs.hooks.turn import CallTool, ToolMiddleware

TAG = "attached-context"
"""The element of the turn's context that holds what was attached (CONTRACT)."""


class Acp(Plugin[NoConfig]):
    """Lets editors talk with the agent."""

    def __init__(self, config: NoConfig, host: Host) -> None:
        super().__init__(config, host)
        self._link = Link()

    @hookimpl
    def setup(self, host: Host) -> None:
        """Let the command find this plugin."""
        host.services.provide(Link, self._link)

    @hookimpl
    async def pre_prompt(self, ctx: Context, turn: Turn) -> ContextBlock | None:
        """Give the model the files that the editor has put into the prompt."""
        opened = self._link.opened
        session = opened.shown_in(turn.session.id) if opened is not None else None
        if session is None or session.prompt is None or turn.session.kind != "chat":
            return None
        prompt = session.prompt
        if turn.inbound.message_id != prompt.inbound.message_id:
            return None
        items, origins = [], []
        for one in prompt.embedded:
            try:
                items.append((one.name, await ctx.read(one.text, one.name)))
            except HooklineError as error:
                items.append((one.name, f"(left out: {error})"))
                ctx.notify(f"{one.name} was not attached: {error}")
            origins.append(one.origin)
        if not items:
            return None
        return ContextBlock(TAG, "", tuple(items), "reference", origins=tuple(origins))

    @hookimpl
    def around_tool(self, ctx: Context, call: ToolCall) -> ToolMiddleware | None:
        """Tell the editor when a call that was allowed begins, and keep it from working past what
        the editor has not saved."""
        feed, unsaved = self._link.feed, self._link.unsaved
        if feed is None or unsaved is None:
            return None

        async def told(call: ToolCall, call_next: CallTool) -> ToolResult:
            feed.runs(ctx, call)
            difference = await unsaved.changes(ctx, call)
            if not difference:
                return await call_next(call)
            if ctx.tool is not None and not ctx.tool.read_only:
                return ToolResult(call, unsaved.refusal(call), ok=False)
            result = await call_next(call)
            note = await unsaved.note(ctx, call, difference)
            return replace(result, notes=(*result.notes, note))

        return told

    @hookimpl
    async def on_question(self, ctx: Context, question: Question) -> str | None:
        """Ask the person at the editor; None if the question is not about its sessions."""
        if self._link.desk is None or not ctx.interactive:
            return None
        return await self._link.desk.ask(ctx, question)
