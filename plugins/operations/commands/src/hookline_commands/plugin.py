"""The slash commands that every chat has, such as ``/new``, ``/stop`` and ``/model``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING
from uuid import uuid4

from hookline_hookspecs import (
    Context,
    Conversations,
    HooklineError,
    Inbound,
    Plugin,
    Questions,
    command,
    hookimpl,
)
from hookline_hookspecs.sentences import N_

from .missing_commands import command_without_plugin, explain_missing, misspelt_command

if TYPE_CHECKING:
    from .server_models import ServerModels


class Commands(Plugin):
    """``/help``, ``/new``, ``/stop`` and the others."""

    @property
    def _conversations(self) -> Conversations:
        return self.host.services[Conversations]

    @cached_property
    def _server_models(self) -> ServerModels:
        from .server_models import ServerModels

        return ServerModels(self.host)

    async def _complete_help(self, session_id: str, typed: str) -> Sequence[tuple[str, str]]:
        prefix = typed.lstrip("/").casefold()
        names = [(command.name[1:], command.help) for command in self._conversations.commands()]
        return sorted((name, text) for name, text in names if name.startswith(prefix))

    @command("/help", audience="everyone", immediate=True, category="Help", complete=_complete_help)
    async def help(self, ctx: Context, args: str) -> str:
        """List the commands; /help all describes each, /help NAME explains one."""
        from .help_texts import command_help, full_help, short_help

        if name := command_without_plugin(f"/{args.lstrip('/')}", self._names()):
            return await explain_missing(self.host, name)
        commands = self._conversations.commands()
        if args.casefold() == "all":
            return full_help(commands, ctx.channel)
        return command_help(commands, args) if args else short_help(commands, ctx.channel)

    @hookimpl
    def on_message(self, ctx: Context, inbound: Inbound) -> Inbound | None:
        """Turn an unknown command into /help if its plugin is off or it is misspelt."""
        text = inbound.text.strip()
        names = self._names()
        unknown = command_without_plugin(text, names) or misspelt_command(text, names)
        return replace(inbound, text=f"/help {unknown}") if unknown else None

    def _names(self) -> set[str]:
        commands = self._conversations.commands()
        return {name.casefold() for known in commands for name in (known.name, *known.aliases)}

    @command("/new", audience="session", aliases=("/reset",), category="Conversation")
    async def new(self, ctx: Context, _args: str) -> str:
        """Start a new session."""
        await self._conversations.end(ctx)
        return f"New session. Go back with /resume {ctx.session.id}."

    @command("/stop", audience="turn", immediate=True, category="Conversation")
    async def stop(self, ctx: Context, _args: str) -> str:
        """Stop the running turn."""
        inbound = ctx.turn.inbound
        chat = (inbound.channel, inbound.chat_id)
        waiting = [one for one in await self.host.services[Questions].open(chat=chat) if one.turn]
        stopped = await self._conversations.stop(inbound)
        if stopped and waiting:
            return ""  # the reply of the turn that waited says that it was stopped
        return "Stopping." if stopped else "Nothing is running."

    async def _complete_model(self, session_id: str, typed: str) -> Sequence[tuple[str, str]]:
        from .models import complete_models

        return await complete_models(self.host, self._server_models, session_id, typed)

    @command("/model", audience="session", category="Model and safety", complete=_complete_model)
    async def model(self, ctx: Context, args: str) -> str:
        """Show the model, or choose another: /model provider/model."""
        if not args:
            return f"Model: {ctx.model}"
        args = await self._server_models.full_name(args, ctx.model)
        if not all(args.partition("/")):
            return f"Invalid model {args!r}. Write provider/model, such as {ctx.model}."
        if refusal := await self._server_models.refusal(args):
            return refusal
        try:
            await self._conversations.set_model(ctx, args)
        except Exception as error:  # a provider may raise anything when it is created
            return str(error)
        return f"Model: {args}"

    @command("/retry", audience="turn", category="Conversation")
    async def retry(self, ctx: Context, _args: str) -> str:
        """Answer the last message again."""
        text = await self._conversations.undo(ctx)
        if not text:
            return "No turn to run again."
        self._conversations.rerun(ctx, text)
        return ""

    async def _complete_undo(self, session_id: str, typed: str) -> Sequence[tuple[str, str]]:
        from .undo import complete_turns

        return await complete_turns(self.host, session_id, typed)

    @command("/undo", audience="turn", category="Conversation", complete=_complete_undo)
    async def undo(self, ctx: Context, args: str) -> str:
        """Remove the last turn, or several: /undo 3. Files stay as they are."""
        from .undo import undo

        return await undo(ctx, args)

    @command("/title", audience="session", category="Sessions")
    async def title(self, ctx: Context, args: str) -> str:
        """Show the session's title, or set it: /title TEXT."""
        if args:
            await self.host.set_title(ctx.session.id, args)
        title = ctx.session.title
        return f"Title: {title}" if title else "This session has no title yet."

    async def _complete_resume(self, session_id: str, typed: str) -> Sequence[tuple[str, str]]:
        from .resume import MAX_SESSIONS, chat_sessions, session_line

        here = [
            session
            for session in await self.host.sessions(limit=MAX_SESSIONS)
            if session.id == session_id
        ]
        if not here:
            return []
        rows = await chat_sessions(self.host, here[0], typed.strip(), limit=50)
        return [(row["id"], session_line(row).partition(" · ")[2]) for row in rows]

    @command("/resume", audience="session", category="Sessions", complete=_complete_resume)
    async def resume(self, ctx: Context, args: str) -> str:
        """Go back to an earlier session of this chat: /resume ID."""
        from .resume import chat_sessions, session_list, session_name

        if not args:
            rows = await chat_sessions(self.host, ctx.session)
            return session_list(rows, N_("Write /resume and the beginning of one of these ids:"))
        rows = await chat_sessions(self.host, ctx.session, args)
        found = [row for row in rows if row["id"] == args] or rows
        if not found:
            return (
                f"No session of this chat begins with {args!r}. Write /resume and the beginning of "
                "an id from /sessions."
            )
        if len(found) > 1:
            return session_list(found, N_(f"Several ids begin with {args}:"))
        session_id = found[0]["id"]
        if session_id != ctx.session.id:
            await self._conversations.reopen(session_id)
        self.host.signals.send("resumed", session_id)
        name = session_name(found[0])
        about = N_(f"It is about “{name}”.") if name else ""
        return f"{N_(f'Session {session_id}.')} {about}".strip()

    @command("/export", audience="operator", category="Sessions")
    async def export(self, ctx: Context, args: str) -> str:
        """Save this session as Markdown or JSON: /export [FILE]."""
        from .export import content, export_path, write

        messages = await self.host.messages(ctx.session.id)
        if not messages:
            return "This session has no messages yet."
        try:
            file = export_path(ctx.paths, args, ctx.session)
            write(file, content(file, ctx.session, messages))
        except HooklineError as error:
            return str(error)
        except OSError as error:
            return f"Cannot write the file: {error.strerror or error}"
        return f"Saved this session to {file}."

    @command("/init", audience="operator", category="Conversation")
    def init(self, ctx: Context, args: str) -> str:
        """Have the agent write or improve AGENTS.md for this project: /init [WHAT MATTERS]."""
        from importlib.resources import files

        text = files("hookline_commands").joinpath("init.md").read_text("utf-8").strip()
        focus = f"\n\nWhat matters most to the person: {args}" if args else ""
        self._conversations.rerun(ctx, text + focus)
        return ""

    @command("/queue", audience="everyone", immediate=True, category="Conversation")
    async def queue(self, ctx: Context, args: str) -> str:
        """Show how many messages are queued, or queue one: /queue TEXT."""
        if args:
            return await self._enqueue(ctx, args)
        waiting = self._conversations.queued(ctx.turn.inbound)
        return "1 message is queued." if waiting == 1 else f"{waiting} messages are queued."

    @command("/steer", audience="turn", immediate=True, category="Conversation")
    async def steer(self, ctx: Context, args: str) -> str:
        """Tell the running turn something at its next step: /steer TEXT."""
        if not args:
            return "Write /steer and what the running turn should know."
        if await self._conversations.steer(ctx.turn.inbound, args):
            return "The running turn will see it."
        return await self._enqueue(ctx, args)

    @command("/whoami", audience="everyone", immediate=True, category="People and schedule")
    def whoami(self, ctx: Context, _args: str) -> str:
        """Show who you are here."""
        inbound = ctx.turn.inbound
        return f"{inbound.channel}:{inbound.user_id} in chat {inbound.chat_id}"

    async def _enqueue(self, ctx: Context, text: str) -> str:
        """Queue ``text`` in the chat like a new message, with its own id."""
        command = ctx.turn.inbound
        message_id = f"{command.message_id}:{uuid4().hex}"
        stored = await self.host.receive(replace(command, text=text, message_id=message_id))
        return N_("Queued.") if stored else N_("Already queued.")
