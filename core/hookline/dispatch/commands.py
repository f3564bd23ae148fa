"""Slash commands: a registry, and the commands that core brings."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Command, Inbound, Question, command
from hookline_hookspecs.parts import COMMAND_MARK

from ..bus.implementation import describe, is_fault, words
from ..sessions.context import TurnContext
from ..text import clean

if TYPE_CHECKING:
    from ..runtime import Runtime

CORE = "core"


class Commands:
    """Slash commands by name; letter case does not matter."""

    def __init__(self) -> None:
        self._commands: dict[str, tuple[str, Command]] = {}

    def add(self, command: Command, plugin: str) -> None:
        """Register a command under its name and aliases."""
        for name in (command.name, *command.aliases):
            self._commands["/" + name.strip("/").casefold()] = (plugin, command)

    def remove(self, plugin: str) -> None:
        """Forget a plugin's commands."""
        self._commands = {n: pair for n, pair in self._commands.items() if pair[0] != plugin}

    def owner(self, name: str) -> str | None:
        """The plugin that has a command of this name."""
        return self._commands.get("/" + name.strip("/").casefold(), (None, None))[0]

    def find(self, text: str) -> tuple[str, Command, str] | None:
        """Plugin, command and arguments of a message, if it is a known command."""
        name, *rest = text.split(None, 1) or [""]
        pair = self._commands.get(name.casefold())
        return (*pair, rest[0].strip() if rest else "") if pair else None

    def all(self) -> list[Command]:
        """Every command once, by name."""
        found = {command.name: command for _, command in self._commands.values()}
        return [found[name] for name in sorted(found)]


def is_command(text: str) -> bool:
    """True for a message that starts with a slash and a letter, such as ``/help``; no path."""
    first = text.strip().split(None, 1)[0] if text.strip() else ""
    return first.startswith("/") and first[1:2].isalpha() and "/" not in first[1:]


async def run_command(
    ctx: TurnContext, plugin: str, command: Command, args: str, inbound: Inbound
) -> str | Question:
    """The command's answer; a fault of its plugin is told, not raised."""
    ctx.command = inbound
    if command.operator_only and not ctx.operator:
        return f"{command.name} is for the operator."
    seen: Any = ctx if plugin == CORE else ctx.of(plugin)
    try:
        where = f"command {command.name}"
        result: Any = await ctx.runtime.bus.run(plugin, where, command.run, seen, args)
    except BaseException as error:
        if ctx.runtime.strict or not is_fault(error):
            raise
        return f"{command.name} failed: {words(error) or describe(error)}"
    return result if isinstance(result, Question) else clean(str(result)) if result else ""


class CoreCommands:
    """The commands of core. Each receives ``(ctx: TurnContext, args)``."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def register(self) -> None:
        """Add every method that is marked as a command."""
        for _, function in inspect.getmembers(type(self), inspect.isfunction):
            if hasattr(function, COMMAND_MARK):
                name, options = getattr(function, COMMAND_MARK)
                doc = (inspect.getdoc(function) or "").split("\n")[0]
                run = getattr(self, function.__name__)
                self._runtime.commands.add(Command(name, doc, run, **options), CORE)

    @command("/help", immediate=True)
    def help(self, _ctx: TurnContext, _args: str) -> str:
        """Show the commands."""
        lines = []
        for one in self._runtime.commands.all():
            aliases = f" ({', '.join(one.aliases)})" if one.aliases else ""
            lines.append(f"{one.name}{aliases}: {one.help}")
        return "\n".join(lines)

    @command("/new", aliases=("/reset",))
    async def new(self, ctx: TurnContext, _args: str) -> str:
        """End this session and begin a new one."""
        await self._runtime.sessions.end(ctx.state)
        return "New session."

    @command("/stop", immediate=True)
    def stop(self, ctx: TurnContext, _args: str) -> str:
        """Stop the running turn."""
        return "Stopping." if self._runtime.intake.stop_turn(ctx.inbound) else "Nothing is running."

    @command("/model")
    async def model(self, ctx: TurnContext, args: str) -> str:
        """Show the model, or choose another: /model provider/model."""
        current = ctx.state.model or self._runtime.default_model()
        if not args:
            return f"Model: {current}"
        if "/" not in args:
            return f"{args!r} is no model; write provider/model, such as {current}"
        try:
            self._runtime.providers.check(args)
        except Exception as error:
            return str(error)
        ctx.state.model = args
        await self._runtime.journal.update_session("set_model", ctx.state.record.id, model=args)
        await self._runtime.sessions.touched(ctx.state)
        return f"Model: {args}"

    @command("/retry")
    async def retry(self, ctx: TurnContext, _args: str) -> str:
        """Take the last turn back and run its message again."""
        text = next((e.message.text for e in ctx.state.history if _is_last(ctx, e)), None)
        if text is None:
            return "There is no turn to run again."
        await self._take_back(ctx)
        return await self._runtime.intake.rerun(ctx.state, replace(ctx.inbound, text=text))

    @command("/undo")
    async def undo(self, ctx: TurnContext, _args: str) -> str:
        """Take the last turn out of the conversation; files are not touched."""
        if not ctx.state.history or not ctx.state.history[-1].turn_id:
            return "There is no turn to undo."
        await self._take_back(ctx)
        return "The last turn is out of the conversation."

    async def _take_back(self, ctx: TurnContext) -> None:
        state = ctx.state
        turn_id = state.history[-1].turn_id
        state.history = [entry for entry in state.history if entry.turn_id != turn_id]
        state.prefix.clear()
        await self._runtime.journal.undo_turn(state.record.id, turn_id)
        await self._runtime.sessions.touched(state)

    @command("/title")
    async def title(self, ctx: TurnContext, args: str) -> str:
        """Show or set the session's title."""
        if args:
            await self._runtime.sessions.set_title(ctx.state.record.id, args)
        return f"Title: {ctx.state.record.title or 'none yet'}"

    @command("/resume")
    async def resume(self, ctx: TurnContext, args: str) -> str:
        """Go back to a session of this chat: /resume ID."""
        chat = (ctx.inbound.channel, ctx.inbound.chat_id, "chat")
        rows = await self._runtime.journal.sessions(*chat, limit=1000)
        found = [row["id"] for row in rows if args and row["id"].startswith(args)]
        if len(found) != 1:
            return "Write /resume and the beginning of one id that /sessions shows."
        if found[0] != ctx.state.record.id:
            await self._runtime.sessions.reopen(found[0])
        return f"Session {found[0]}."

    @command("/queue", immediate=True)
    async def queue(self, ctx: TurnContext, args: str) -> str:
        """Show what waits, or put a message into the queue: /queue TEXT."""
        if args:
            return await self._runtime.intake.enqueue(replace(ctx.inbound, text=args))
        return f"{self._runtime.intake.waiting(ctx.inbound)} messages wait."

    @command("/steer", immediate=True)
    async def steer(self, ctx: TurnContext, args: str) -> str:
        """Speak into the running turn at its next step: /steer TEXT."""
        if not args:
            return "Write /steer and what the running turn should know."
        if self._runtime.intake.steer(ctx.inbound, args):
            return "Told."
        return await self._runtime.intake.enqueue(replace(ctx.inbound, text=args))

    @command("/whoami", immediate=True)
    def whoami(self, ctx: TurnContext, _args: str) -> str:
        """Show who you are here."""
        return f"{ctx.inbound.channel}:{ctx.inbound.user_id} in chat {ctx.inbound.chat_id}"


def _is_last(ctx: TurnContext, entry: Any) -> bool:
    last = ctx.state.history[-1].turn_id
    return bool(last and entry.turn_id == last and entry.message.role == "user")
