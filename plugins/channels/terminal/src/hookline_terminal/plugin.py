"""The channel ``terminal`` as a plugin: its questions, context and slash commands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

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
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.model_setup import ModelSetup
from hookline_markdown.themes import use_theme

from .channel import TerminalChannel
from .config import TerminalConfig
from .model_setup import InitModelSetup
from .preferences import Preferences
from .theme_setting import MEANINGS, theme_setting, theme_without_asking


class Terminal(Plugin[TerminalConfig]):
    """The channel ``terminal``, its questions, and the first-time set-up."""

    def __init__(self, config: TerminalConfig, host: Host) -> None:
        super().__init__(config, host)
        self._channel = TerminalChannel(host, config)
        chosen = theme_setting(Preferences(host).get("theme"), config.theme)
        use_theme(theme_without_asking(chosen, host.env))

    @hookimpl
    def setup(self, host: Host) -> None:
        """Provide the set-up of the model, for pages."""
        host.services.provide(ModelSetup, InitModelSetup(host))

    @hookimpl
    def register_channels(self, register: Callable[[Channel], None]) -> None:
        """Register the channel ``terminal``."""
        register(self._channel)

    @hookimpl
    async def on_question(self, ctx: Context, question: Question) -> QuestionAnswer | None:
        """Ask the person at this terminal, without a limit of time; None if there is none."""
        if not ctx.interactive or ctx.channel != self._channel.name:
            return None
        found = await self._channel.ask(question)
        if found is None:
            return None
        answer = QuestionAnswer(found) if isinstance(found, str) else found
        return replace(answer, by=f"{TERMINAL}:{ctx.turn.inbound.user_id}")

    @hookimpl
    async def pre_prompt(self, ctx: Context, turn: Turn) -> ContextBlock | None:
        """Add the output of the commands that the person ran with ``!`` before this message."""
        runs = self._channel.shell_runs_before(turn.inbound.message_id)
        if not runs or turn.session.kind != "chat":
            return None
        from .shell_escape import shell_context

        return await shell_context(ctx, runs)

    @command(
        "/expand", audience="everyone", immediate=True, category="Conversation", channel="terminal"
    )
    def expand(self, _ctx: Context, _args: str) -> str:
        """Show the last folded result in full (Ctrl-O); again: the one before."""
        return "/expand works in the terminal chat only."

    @command(
        "/copy", audience="everyone", immediate=True, category="Conversation", channel="terminal"
    )
    def copy(self, _ctx: Context, _args: str) -> str:
        """Copy the last answer, or its last code block: /copy code."""
        return "/copy works in the terminal chat only."

    @command("/fork", audience="session", category="Sessions", channel="terminal")
    async def fork(self, ctx: Context, args: str) -> str:
        """Continue in a copy of this session: /fork [TITLE]."""
        from .sessions import fork_session

        forked = await fork_session(self.host, ctx.session, args.strip())
        if forked is None:
            return "Nothing to fork yet: this session has no messages."
        await self._channel.go_on_in(forked)
        return f"You are in a fork, {forked}. Go back with /resume {ctx.session.id}."

    async def _complete_theme(self, session_id: str, typed: str) -> list[tuple[str, str]]:
        return [(one, what) for one, what in MEANINGS.items() if one.startswith(typed)]

    @command(
        "/theme",
        audience="everyone",
        immediate=True,
        category="Terminal",
        channel="terminal",
        complete=_complete_theme,
    )
    def theme(self, _ctx: Context, _args: str) -> str:
        """Show or choose the terminal's colours: /theme auto, dark, light, ansi or none."""
        return "/theme works in the terminal chat only."

    @command("/vim", audience="everyone", immediate=True, category="Terminal", channel="terminal")
    def vim(self, _ctx: Context, _args: str) -> str:
        """Switch vi keys in the input line on or off; this is remembered."""
        return "/vim works in the terminal chat only."

    @command(
        "/editor", audience="everyone", immediate=True, category="Terminal", channel="terminal"
    )
    def editor(self, _ctx: Context, _args: str) -> str:
        """Write the message in $VISUAL or $EDITOR (Ctrl-G): /editor [TEXT]."""
        return "/editor works in the terminal chat only."
