"""The plugin ``acp``: the hooks that connect turns with the editor."""

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
from hookline_hookspecs.optional_services import FormDialog

from .link import EditorLink

if TYPE_CHECKING:
    from hookline_hookspecs.hooks.turn import CallTool, ToolMiddleware

TAG = "attached-context"
"""The context element of attached files."""


class Acp(Plugin[NoConfig]):
    """Serves editors as their agent."""

    def __init__(self, config: NoConfig, host: Host) -> None:
        super().__init__(config, host)
        self._link = EditorLink()

    @hookimpl
    def setup(self, host: Host) -> None:
        """Provide the link that the command fills, and the editor's forms."""
        host.services.provide(EditorLink, self._link)
        host.services.provide(FormDialog, self)

    @hookimpl
    async def pre_prompt(self, ctx: Context, turn: Turn) -> ContextBlock | None:
        """Add the files that the editor embedded in the prompt to the context."""
        sessions = self._link.sessions
        session = sessions.find(turn.session.id) if sessions is not None else None
        if session is None or session.prompt is None or turn.session.kind != "chat":
            return None
        prompt = session.prompt
        if turn.inbound.message_id != prompt.inbound.message_id:
            return None
        items = []
        origins = []
        for one in prompt.embedded:
            try:
                items.append((one.name, await ctx.read(one.text, one.name)))
            except HooklineError as error:
                items.append((one.name, f"(not attached: {error})"))
                ctx.notify(f"{one.name} was not attached: {error}")
            origins.append(one.origin)
        if not items:
            return None
        return ContextBlock(TAG, "", tuple(items), "reference", origins=tuple(origins))

    @hookimpl
    def around_tool(self, ctx: Context, call: ToolCall) -> ToolMiddleware | None:
        """Report an allowed call to the editor, and refuse writes that would lose unsaved text."""
        feed = self._link.feed
        unsaved = self._link.unsaved
        if feed is None or unsaved is None:
            return None

        async def run(call: ToolCall, call_next: CallTool) -> ToolResult:
            feed.report_running(ctx, call)
            difference = await unsaved.changes(ctx, call)
            if not difference:
                return await call_next(call)
            if ctx.tool is not None and not ctx.tool.read_only:
                return ToolResult(call, unsaved.refusal(call), ok=False)
            result = await call_next(call)
            note = await unsaved.note(ctx, call, difference)
            return replace(result, notes=(*result.notes, note))

        return run

    @hookimpl
    async def on_question(self, ctx: Context, question: Question) -> str | None:
        """Ask the person at the editor; None for questions of other sessions."""
        if self._link.questions is None or not ctx.interactive:
            return None
        return await self._link.questions.ask(ctx, question)

    async def fill(self, session_id: str, question: Question) -> str | None:
        """Show a form in the editor; None for questions of other sessions."""
        if self._link.questions is None:
            return None
        return await self._link.questions.fill(session_id, question)
