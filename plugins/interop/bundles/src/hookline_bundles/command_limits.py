"""Which tools a command of a bundle uses: what others would do is asked about during its turn.

``allowed-tools`` never allows anything: permissions and every other guard decide as always.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hookline_hookspecs import Ask, Context, Host, PermissionRules, ToolCall
from hookline_hookspecs.parts import is_command

from .bundle import BundleCommand
from .library import BundleLibrary
from .tool_names import own_name

_WAITING = "command"
"""Key in a session's stash: the command whose turn begins next, and its text."""
_RUNNING = "command"
"""Key in a turn's stash: its command; None for a turn without one."""
_TOOL = re.compile(r"([A-Za-z_][\w*.-]*)(\([^)]*\))?")
_FREE = frozenset({"plan", "clarify"})
"""Tools that change nothing besides the conversation."""


class CommandLimits:
    """Knows the command of each turn, also after the turn was resumed by another process."""

    def __init__(self, host: Host, library: BundleLibrary) -> None:
        self._host = host
        self._library = library

    def begin(self, ctx: Context, command: BundleCommand, text: str) -> None:
        """Note that the next turn of the session is that of a command, with this text."""
        ctx.stash.session[_WAITING] = (command, text)

    async def pre_tool(self, ctx: Context, call: ToolCall) -> Ask | None:
        """Ask about a call that the turn's command does not name."""
        command = self._command(ctx)
        tool = ctx.tool
        is_free = call.name in _FREE or (tool is not None and tool.read_only)
        if command is None or is_free or await self.covers(ctx, command, call):
            return None
        named = ", ".join(command.allowed_tools)
        return Ask(f"/{command.name} says that it uses only {named}", once=True)

    async def covers(self, ctx: Context, command: BundleCommand, call: ToolCall) -> bool:
        """Return whether a command names what a call does; one that names nothing names all."""
        if not command.allowed_tools or "*" in command.allowed_tools:
            return True
        rules = own_rules(command.allowed_tools)
        if call.name in rules:
            return True
        service = self._host.services.get(PermissionRules)
        return service is not None and await service.covers(ctx, rules, call)

    def _command(self, ctx: Context) -> BundleCommand | None:
        stash = ctx.stash
        if _RUNNING not in stash:
            stash[_RUNNING] = self._find(ctx)
        found: BundleCommand | None = stash[_RUNNING]
        return found

    def _find(self, ctx: Context) -> BundleCommand | None:
        text = ctx.turn.inbound.text
        command, waiting = ctx.stash.session.pop(_WAITING, (None, ""))
        if command is not None and waiting == text:
            found: BundleCommand = command
            return found
        if not is_command(text):
            return None
        # A turn that another process began: its stored message is the command line.
        name = text.split(None, 1)[0].removeprefix("/").casefold()
        for status in self._library.active:
            for one in status.bundle.commands if status.bundle is not None else ():
                if name in (one.name.casefold(), f"{status.name}:{one.name}".casefold()):
                    return one
        return None


def own_rules(written: Sequence[str]) -> list[str]:
    """Return ``allowed-tools`` as permission rules; tools that Hookline does not have are left out.

    ``Bash(git add:*)`` becomes ``bash(git add *)``.
    """
    rules = []
    for tool, brackets in _TOOL.findall(" ".join(written)):
        name = own_name(tool)
        if name is None:
            continue
        patterns = [one.strip() for one in brackets[1:-1].split(",")]
        rules += [f"{name}({_pattern(one)})" if one not in ("", "*") else name for one in patterns]
    return rules


def _pattern(written: str) -> str:
    return f"{written[:-2]} *" if written.endswith(":*") else written
