"""What the chat itself does with a line: ``!command`` and ``/keys``, and Shift-Tab."""

from __future__ import annotations

import asyncio
import textwrap
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol

from hookline_hookspecs import (
    Context,
    ContextBlock,
    Conversations,
    Host,
    Origin,
    OriginKind,
    Refused,
    ToolCall,
)
from hookline_markdown import window_width

from .completion import ChatCompleter
from .conversation import Conversation
from .key_help import table
from .mode_switch import next_mode
from .past import past_sessions
from .shell_escape import Ran, ShellEscape

KEYS = "/keys"
TAG = "attached-context"
"""The element of the turn's context that holds what the person added."""
BUSY = "A command is running; Ctrl-C stops it. ↑ brings this one back."
HINT = "What it prints goes with your next message."
DIM, YELLOW = "\x1b[2m", "\x1b[33m"


class Say(Protocol):
    """Shows lines above the input line."""

    def __call__(self, text: str, *styles: str) -> None:
        """Show ``text`` in these styles."""


class OwnCommands:
    """Lines that no turn is needed for. ``changed`` is called when the mode is another."""

    def __init__(
        self, host: Host, conversation: Conversation, say: Say, changed: Callable[[], None]
    ) -> None:
        self._host = host
        self._conversation = conversation
        self._say = say
        self._changed = changed
        self._shell = ShellEscape(
            host.paths.workspace, lambda line: say(f"  {line}", DIM), conversation.keep
        )
        self._has_hinted = False
        self._tasks: set[asyncio.Task[None]] = set()

    @staticmethod
    def wants(text: str) -> bool:
        """Whether ``text`` is for the chat itself."""
        line = text.strip()
        return line.casefold() == KEYS or (line.startswith("!") and bool(line[1:].strip()))

    def take(self, text: str) -> None:
        """Do what ``text`` says."""
        line = text.strip()
        if line.casefold() == KEYS:
            self.show_keys()
        else:
            self._run(line[1:].strip())

    def _run(self, command: str) -> None:
        if self._shell.is_running:
            self._say(BUSY, YELLOW)
            return
        if not self._has_hinted:
            self._say(f"  {HINT}", DIM)
            self._has_hinted = True
        self._shell.start(command)

    def stop(self) -> bool:
        """Stop the running command; False if there is none."""
        return self._shell.stop()

    async def close(self) -> None:
        """End what is running."""
        await self._shell.close()

    def show_keys(self) -> None:
        """Show what the keys do."""
        self._say(table(window_width()), "")

    def next_mode(self) -> None:
        """Change the session's mode to the next one."""
        self._spawn(self._next_mode())

    async def _next_mode(self) -> None:
        session = self._conversation.current or ""
        self._say(
            textwrap.fill(await next_mode(self._host.services, session), window_width() - 1), DIM
        )
        self._changed()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def own_completer(host: Host, conversation: Conversation) -> ChatCompleter:
    """What Tab offers in this chat."""
    core = host.services[Conversations]

    async def before() -> str | None:
        if conversation.opened is not None:
            return None
        return next((one.id for one in await past_sessions(host)), None)

    return ChatCompleter(host.paths, core.commands, lambda: conversation.current, before)


async def told(ctx: Context, ran: Sequence[Ran]) -> ContextBlock | None:
    """The commands and what they printed, for the turn of the next message."""
    items: list[tuple[str, str]] = []
    origins: dict[Origin, None] = {}
    for one in ran:
        try:
            text = await ctx.read(one.told, f"!{one.command}", "reference")
        except Refused as reason:
            ctx.notify(f"what {one.command} printed is not attached: {reason}")
            continue
        items.append((one.command, text))
        origins[Origin(_origin(ctx, one.command), f"!{one.command}"[:200])] = None
    if not items:
        return None
    intro = "The person ran these commands in their own shell, not through you."
    return ContextBlock(TAG, intro, tuple(items), "command", origins=tuple(origins))


def _origin(ctx: Context, command: str) -> OriginKind:
    """Outside where the command may have reached the network, as the shell's judge reads it."""
    effects = ctx.effects(ToolCall("", "bash", {"command": command}))
    reached = any(effect.kind in ("network", "send") for effect in effects)
    return "outside" if reached else "workspace"
