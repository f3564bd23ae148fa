"""The slash commands of core, as a built-in plugin."""

from __future__ import annotations

from dataclasses import replace

from hookline_hookspecs import Plugin, command

from ..engine import Engine
from ..sessions.context import PluginContext
from ..sessions.manager import Sessions
from .commands import Commands
from .dispatcher import Dispatcher

NAME = "core"


class CoreCommands(Plugin):
    """``/help``, ``/new``, ``/stop`` and the others that every installation has."""

    def __init__(
        self, engine: Engine, sessions: Sessions, dispatcher: Dispatcher, commands: Commands
    ) -> None:
        self._engine = engine
        self._sessions = sessions
        self._dispatcher = dispatcher
        self._commands = commands

    @command("/help", immediate=True)
    def help(self, _ctx: PluginContext, _args: str) -> str:
        """Show the commands."""
        lines = []
        for one in self._commands.all():
            aliases = f" ({', '.join(one.aliases)})" if one.aliases else ""
            lines.append(f"{one.name}{aliases}: {one.help}")
        return "\n".join(lines)

    @command("/new", aliases=("/reset",))
    async def new(self, ctx: PluginContext, _args: str) -> str:
        """End this session and begin a new one."""
        await self._sessions.end(ctx.base.state)
        return "New session."

    @command("/stop", immediate=True)
    async def stop(self, ctx: PluginContext, _args: str) -> str:
        """Stop the running turn."""
        stopped = await self._dispatcher.stop(ctx.base.inbound)
        return "Stopping." if stopped else "Nothing is running."

    @command("/model")
    async def model(self, ctx: PluginContext, args: str) -> str:
        """Show the model, or choose another: /model provider/model."""
        if not args:
            return f"Model: {ctx.model}"
        if "/" not in args:
            return f"{args!r} is no model; write provider/model, such as {ctx.model}"
        try:
            self._engine.providers.check(args)
        except Exception as error:
            return str(error)
        await self._sessions.set_model(ctx.base.state, args)
        return f"Model: {args}"

    @command("/retry")
    async def retry(self, ctx: PluginContext, _args: str) -> str:
        """Undo the last turn and run its message again."""
        state = ctx.base.state
        last = state.history[-1].turn_id if state.history else ""
        said = [e.message for e in state.history if last and e.turn_id == last]
        text = next((message.text for message in said if message.role == "user"), None)
        if text is None:
            return "There is no turn to run again."
        await self._sessions.undo_turn(state)
        state.pending.rerun = replace(ctx.base.inbound, text=text)
        return ""

    @command("/undo")
    async def undo(self, ctx: PluginContext, _args: str) -> str:
        """Remove the last turn from the conversation; files are not touched."""
        state = ctx.base.state
        if not state.history or not state.history[-1].turn_id:
            return "There is no turn to undo."
        await self._sessions.undo_turn(state)
        return "The last turn is out of the conversation."

    @command("/title")
    async def title(self, ctx: PluginContext, args: str) -> str:
        """Show or set the session's title."""
        if args:
            await self._sessions.set_title(ctx.session.id, args)
        return f"Title: {ctx.session.title or 'none yet'}"

    @command("/resume")
    async def resume(self, ctx: PluginContext, args: str) -> str:
        """Go back to a session of this chat: /resume ID."""
        chat = {"channel": ctx.base.inbound.channel, "chat_id": ctx.base.inbound.chat_id}
        rows = await self._engine.journal.sessions(1000, kind="chat", **chat)
        found = [row["id"] for row in rows if args and row["id"].startswith(args)]
        if len(found) != 1:
            return "Write /resume and the beginning of one id that /sessions shows."
        if found[0] != ctx.session.id:
            await self._sessions.reopen(found[0])
        return f"Session {found[0]}."

    @command("/queue", immediate=True)
    async def queue(self, ctx: PluginContext, args: str) -> str:
        """Show how many messages wait, or add one to the queue: /queue TEXT."""
        inbound = ctx.base.inbound
        if args:
            return await self._dispatcher.enqueue(replace(inbound, text=args))
        return f"{self._dispatcher.queued(inbound)} messages wait."

    @command("/steer", immediate=True)
    async def steer(self, ctx: PluginContext, args: str) -> str:
        """Speak into the running turn at its next step: /steer TEXT."""
        inbound = ctx.base.inbound
        if not args:
            return "Write /steer and what the running turn should know."
        if await self._dispatcher.steer(inbound, args):
            return "Told."
        return await self._dispatcher.enqueue(replace(inbound, text=args))

    @command("/whoami", immediate=True)
    def whoami(self, ctx: PluginContext, _args: str) -> str:
        """Show who you are here."""
        inbound = ctx.base.inbound
        return f"{inbound.channel}:{inbound.user_id} in chat {inbound.chat_id}"
