"""Hookline plugin ``commands``: the slash commands that every chat has.

Reached by the entry point ``hookline_commands:Commands``. What a command does, core's service
``Conversations`` does; here are its words.
"""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

from hookline_hookspecs import Context, Conversations, Plugin, command

__all__ = ["Commands"]
MOST_SESSIONS = 1000
"""Sessions of a chat among which ``/resume`` looks, the newest."""


class Commands(Plugin):
    """``/help``, ``/new``, ``/stop`` and the others."""

    @property
    def _conversations(self) -> Conversations:
        return self.host.services[Conversations]

    @command("/help", immediate=True, theme="Help")
    def help(self, ctx: Context, args: str) -> str:
        """Show the commands, or all about one: /help NAME."""
        from .listing import about, listed

        commands = self._conversations.commands()
        return about(commands, args) if args else listed(commands, ctx.channel)

    @command("/new", aliases=("/reset",), theme="Conversation")
    async def new(self, ctx: Context, _args: str) -> str:
        """End this session and begin a new one."""
        await self._conversations.end(ctx)
        return "New session."

    @command("/stop", immediate=True, theme="Conversation")
    async def stop(self, ctx: Context, _args: str) -> str:
        """Stop the running turn."""
        stopped = await self._conversations.stop(ctx.turn.inbound)
        return "Stopping." if stopped else "Nothing is running."

    @command("/model", theme="Model and safety")
    async def model(self, ctx: Context, args: str) -> str:
        """Show the model, or choose another: /model provider/model."""
        if not args:
            return f"Model: {ctx.model}"
        if "/" not in args:
            return f"{args!r} is no model; write provider/model, such as {ctx.model}"
        try:
            await self._conversations.set_model(ctx, args)
        except Exception as error:  # a driver may raise anything while it is made
            return str(error)
        return f"Model: {args}"

    @command("/retry", theme="Conversation")
    async def retry(self, ctx: Context, _args: str) -> str:
        """Undo the last turn and run its message again."""
        text = await self._conversations.undo(ctx)
        if not text:
            return "There is no turn to run again."
        self._conversations.rerun(ctx, text)
        return ""

    @command("/undo", theme="Conversation")
    async def undo(self, ctx: Context, _args: str) -> str:
        """Remove the last turn from the conversation; files are not touched."""
        if await self._conversations.undo(ctx) is None:
            return "There is no turn to undo."
        return "The last turn is out of the conversation."

    @command("/title", theme="Sessions")
    async def title(self, ctx: Context, args: str) -> str:
        """Show or set the session's title."""
        if args:
            await self.host.set_title(ctx.session.id, args)
        return f"Title: {ctx.session.title or 'none yet'}"

    @command("/resume", theme="Sessions")
    async def resume(self, ctx: Context, args: str) -> str:
        """Go back to a session of this chat: /resume ID."""
        inbound = ctx.turn.inbound
        chat = {"channel": inbound.channel, "chat_id": inbound.chat_id}
        sessions = await self.host.sessions(limit=MOST_SESSIONS, kind="chat", **chat)
        found = [one.id for one in sessions if args and one.id.startswith(args)]
        if len(found) != 1:
            return "Write /resume and the beginning of one id that /sessions shows."
        if found[0] != ctx.session.id:
            await self._conversations.reopen(found[0])
        return f"Session {found[0]}."

    @command("/queue", immediate=True, theme="Conversation")
    async def queue(self, ctx: Context, args: str) -> str:
        """Show how many messages wait, or add one to the queue: /queue TEXT."""
        if args:
            return await self._enqueue(ctx, args)
        return f"{self._conversations.queued(ctx.turn.inbound)} messages wait."

    @command("/steer", immediate=True, theme="Conversation")
    async def steer(self, ctx: Context, args: str) -> str:
        """Speak into the running turn at its next step: /steer TEXT."""
        if not args:
            return "Write /steer and what the running turn should know."
        if await self._conversations.steer(ctx.turn.inbound, args):
            return "Told."
        return await self._enqueue(ctx, args)

    @command("/whoami", immediate=True, theme="People and schedule")
    def whoami(self, ctx: Context, _args: str) -> str:
        """Show who you are here."""
        inbound = ctx.turn.inbound
        return f"{inbound.channel}:{inbound.user_id} in chat {inbound.chat_id}"

    async def _enqueue(self, ctx: Context, text: str) -> str:
        """Put ``text`` into the chat's queue as if it had just arrived, under an id of its own."""
        command = ctx.turn.inbound
        message_id = f"{command.message_id}:{uuid4().hex}"
        stored = await self.host.receive(replace(command, text=text, message_id=message_id))
        return "Queued." if stored else "It was queued already."
