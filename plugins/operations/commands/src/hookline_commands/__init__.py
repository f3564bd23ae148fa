"""Hookline plugin ``commands``: the slash commands that every chat has.

Reached by the entry point ``hookline_commands:Commands``. What a command does, core's service
``Conversations`` does; here are its words. :mod:`.absent` explains commands that are not there,
:mod:`.listing` is ``/help``, :mod:`.models` knows models, :mod:`.undoing` is ``/undo``,
:mod:`.resume` finds sessions, :mod:`.export` writes one to a file, and ``init.md`` is the message
that ``/init`` sends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import uuid4

from hookline_hookspecs import (
    Context,
    Conversations,
    HooklineError,
    Inbound,
    Plugin,
    command,
    hookimpl,
)

from .absent import lacking, mistaken, told

__all__ = ["Commands"]


class Commands(Plugin):
    """``/help``, ``/new``, ``/stop`` and the others."""

    @property
    def _conversations(self) -> Conversations:
        return self.host.services[Conversations]

    async def _complete_help(self, session_id: str, typed: str) -> Sequence[tuple[str, str]]:
        wanted = typed.lstrip("/").casefold()
        names = [(one.name[1:], one.help) for one in self._conversations.commands()]
        return sorted((name, told) for name, told in names if name.startswith(wanted))

    @command("/help", audience="everyone", immediate=True, category="Help", complete=_complete_help)
    async def help(self, ctx: Context, args: str) -> str:
        """List the commands; /help all says what each does, /help NAME all about one."""
        from .listing import about, listed, shortly

        if lacks := lacking(f"/{args.lstrip('/')}", self._names()):
            return await told(self.host, lacks)
        commands = self._conversations.commands()
        if args.casefold() == "all":
            return listed(commands, ctx.channel)
        return about(commands, args) if args else shortly(commands, ctx.channel)

    @hookimpl
    def on_message(self, ctx: Context, inbound: Inbound) -> Inbound | None:
        """Answer a command that is not there: what to do about its plugin, or what was meant."""
        text, names = inbound.text.strip(), self._names()
        absent = lacking(text, names) or mistaken(text, names)
        return replace(inbound, text=f"/help {absent}") if absent else None

    def _names(self) -> set[str]:
        commands = self._conversations.commands()
        return {name.casefold() for one in commands for name in (one.name, *one.aliases)}

    @command("/new", audience="session", aliases=("/reset",), category="Conversation")
    async def new(self, ctx: Context, _args: str) -> str:
        """End this session and begin a new one."""
        await self._conversations.end(ctx)
        return f"New session. /resume {ctx.session.id} goes back to the one before."

    @command("/stop", audience="turn", immediate=True, category="Conversation")
    async def stop(self, ctx: Context, _args: str) -> str:
        """Stop the running turn."""
        stopped = await self._conversations.stop(ctx.turn.inbound)
        return "Stopping." if stopped else "Nothing is running."

    async def _complete_model(self, session_id: str, typed: str) -> Sequence[tuple[str, str]]:
        from .models import offered

        return await offered(self.host, session_id, typed)

    @command("/model", audience="session", category="Model and safety", complete=_complete_model)
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

    @command("/retry", audience="turn", category="Conversation")
    async def retry(self, ctx: Context, _args: str) -> str:
        """Undo the last turn and run its message again."""
        text = await self._conversations.undo(ctx)
        if not text:
            return "There is no turn to run again."
        self._conversations.rerun(ctx, text)
        return ""

    async def _complete_undo(self, session_id: str, typed: str) -> Sequence[tuple[str, str]]:
        from .undoing import offered

        return await offered(self.host, session_id, typed)

    @command("/undo", audience="turn", category="Conversation", complete=_complete_undo)
    async def undo(self, ctx: Context, args: str) -> str:
        """Remove the last turn from the conversation, or the last ones: /undo 3. Files stay."""
        from .undoing import undo

        return await undo(ctx, args)

    @command("/title", audience="session", category="Sessions")
    async def title(self, ctx: Context, args: str) -> str:
        """Show the session's title, or set it: /title TEXT."""
        if args:
            await self.host.set_title(ctx.session.id, args)
        return f"Title: {ctx.session.title or 'none yet'}"

    async def _complete_resume(self, session_id: str, typed: str) -> Sequence[tuple[str, str]]:
        from .resume import MOST, line_of, sessions_of

        here = [one for one in await self.host.sessions(limit=MOST) if one.id == session_id]
        if not here:
            return []
        rows = await sessions_of(self.host, here[0], typed.strip(), limit=50)
        return [(row["id"], line_of(row).partition("  ")[2]) for row in rows]

    @command("/resume", audience="session", category="Sessions", complete=_complete_resume)
    async def resume(self, ctx: Context, args: str) -> str:
        """Go back to a session of this chat: /resume ID."""
        from .resume import choices, name_of, sessions_of

        if not args:
            rows = await sessions_of(self.host, ctx.session)
            return choices(rows, "Write /resume and the beginning of one of these ids:")
        rows = await sessions_of(self.host, ctx.session, args)
        found = [row for row in rows if row["id"] == args] or rows
        if not found:
            return (
                f"No session of this chat begins with {args!r}. Write /resume and the beginning of "
                "one id that /sessions shows."
            )
        if len(found) > 1:
            return choices(found, f"{args} is the beginning of several ids:")
        session_id = found[0]["id"]
        if session_id != ctx.session.id:
            await self._conversations.reopen(session_id)
        self.host.signals.send("resumed", session_id)
        name = name_of(found[0])
        return f"Session {session_id}." + (f" It is about “{name}”." if name else "")

    @command("/export", audience="operator", category="Sessions")
    async def export(self, ctx: Context, args: str) -> str:
        """Write this session to a file, Markdown or .json: /export [FILE]."""
        from .export import content, target, write

        messages = await self.host.messages(ctx.session.id)
        if not messages:
            return "Nothing was said in this session yet."
        try:
            file = target(ctx.paths, args, ctx.session)
            write(file, content(file, ctx.session, messages))
        except HooklineError as error:
            return str(error)
        except OSError as error:
            return f"The file could not be written: {error.strerror or error}"
        return f"The session is in {file}."

    @command("/init", audience="operator", category="Conversation")
    def init(self, ctx: Context, args: str) -> str:
        """Have AGENTS.md written from the project, or improved: /init [WHAT MATTERS]."""
        from importlib.resources import files

        text = files("hookline_commands").joinpath("init.md").read_text("utf-8").strip()
        wish = f"\n\nWhat matters most to the person: {args}" if args else ""
        self._conversations.rerun(ctx, text + wish)
        return ""

    @command("/queue", audience="everyone", immediate=True, category="Conversation")
    async def queue(self, ctx: Context, args: str) -> str:
        """Show how many messages wait, or add one to the queue: /queue TEXT."""
        if args:
            return await self._enqueue(ctx, args)
        waiting = self._conversations.queued(ctx.turn.inbound)
        return "1 message waits." if waiting == 1 else f"{waiting} messages wait."

    @command("/steer", audience="turn", immediate=True, category="Conversation")
    async def steer(self, ctx: Context, args: str) -> str:
        """Speak into the running turn at its next step: /steer TEXT."""
        if not args:
            return "Write /steer and what the running turn should know."
        if await self._conversations.steer(ctx.turn.inbound, args):
            return "Told."
        return await self._enqueue(ctx, args)

    @command("/whoami", audience="everyone", immediate=True, category="People and schedule")
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
