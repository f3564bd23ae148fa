"""The channel ``terminal`` as a plugin: its questions, context and slash commands."""

from __future__ import annotations

from collections.abc import Callable

from hookline_hookspecs import (
    Channel,
    Context,
    ContextBlock,
    Host,
    Plugin,
    Question,
    QuestionAnswer,
    Turn,
    command,
    hookimpl,
)

from .channel import TerminalChannel
from .config import TerminalConfig


class Terminal(Plugin[TerminalConfig]):
    """The channel ``terminal``, its questions, and the first-time set-up."""

    def __init__(self, config: TerminalConfig, host: Host) -> None:
        super().__init__(config, host)
        self._channel = TerminalChannel(host, config)

    @hookimpl
    def register_channels(self, register: Callable[[Channel], None]) -> None:
        """Register the channel ``terminal``."""
        register(self._channel)

    @hookimpl
    async def on_question(self, ctx: Context, question: Question) -> str | QuestionAnswer | None:
        """Ask the person at this terminal, without a limit of time; None if there is none."""
        if not ctx.interactive or ctx.channel != self._channel.name:
            return None
        return await self._channel.ask(question)

    @hookimpl
    async def pre_prompt(self, ctx: Context, turn: Turn) -> ContextBlock | None:
        """Add the output of the commands that the person ran with ``!`` before this message."""
        runs = self._channel.shell_runs_before(turn.inbound.message_id)
        if not runs or turn.session.kind != "chat":
            return None
        from .shell_escape import shell_context

        return await shell_context(ctx, runs)

    @command("/expand", audience="everyone", immediate=True, category="Conversation")
    def expand(self, _ctx: Context, _args: str) -> str:
        """Show all of the last result that was folded (Ctrl-O); again, of the one before."""
        return "/expand works in the terminal chat only."

    @command("/copy", audience="everyone", immediate=True, category="Conversation")
    def copy(self, _ctx: Context, _args: str) -> str:
        """Copy the last answer to the clipboard, or its last block of code: /copy code."""
        return "/copy works in the terminal chat only."
