"""The tools of other plugins, called outside of a turn: they read for the operator."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from hookline_hookspecs import Host, Inbound, Origin, Session, Tool, ToolError, ToolOutput, Turn
from hookline_hookspecs.host import Stash

OF_PLUGIN = {"session_search": "session-search", "memory": "memory", "skill_view": "skills"}
"""The tools, and the plugins that bring them."""


class Outside:
    """What a tool that reads needs of a context: the operator's own chat, and no turn under way.

    A tool that reaches for more is not one that only reads.
    """

    operator = True
    interactive = False
    approval = "no"
    channel = "terminal"
    model = ""
    tool = None
    history = ()
    origins: tuple[Origin, ...] = ()

    def __init__(self, host: Host) -> None:
        self.host = host
        self.log = host.log
        self.stash = Stash()
        self.stash.session = {}
        self.session = Session("mcp", "terminal", "default", None, host.now())
        inbound = Inbound("terminal", "default", "", "", "", received=host.now())
        self.turn = Turn("mcp", self.session, inbound)

    async def read(self, text: str, source: str, kind: str = "file") -> str:
        """Pass ``text`` through ``pre_read``."""
        return await self.host.read(text, source, kind)

    def notify(self, text: str) -> None:
        """There is nobody to be told."""


async def called(host: Host, name: str, /, **arguments: Any) -> str:
    """Return what a tool answers. Raises ``ToolError``, and ``Refused`` from a guard."""
    tool = next((one for one in host.tools() if one.name == name), None)
    if tool is None:
        raise ToolError(
            f"this needs the plugin {OF_PLUGIN[name]}, which is off; `hookline plugins enable "
            f"{OF_PLUGIN[name]}` switches it on"
        )
    output = await _run(tool, Outside(host), tool.check(arguments))
    if not isinstance(output, ToolOutput):
        return str(output)
    if not output.ok:
        raise ToolError(output.text.removeprefix("Error: "))
    return "\n".join([output.text, *(f"Note: {note}" for note in output.notes)])


async def _run(tool: Tool, ctx: Outside, arguments: dict[str, Any]) -> Any:
    if tool.wants_context:
        arguments |= {"ctx": ctx}
    if tool.is_async:
        return await tool.run(**arguments)
    return await asyncio.to_thread(lambda: tool.run(**arguments))


async def listed(host: Host, commands: Sequence[Any], words: str) -> str:
    """Return the skills, or those that fit ``words``, as ``/skills`` shows them."""
    command = next((one for one in commands if one.name == "/skills"), None)
    if command is None:
        raise ToolError("this needs the plugin skills, which is off")
    return str(await command.run(Outside(host), words))
