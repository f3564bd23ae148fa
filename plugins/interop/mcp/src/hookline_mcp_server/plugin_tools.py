"""Calls read-only tools of other plugins outside of a turn, on behalf of the operator."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hookline_hookspecs import (
    Conversations,
    Host,
    Inbound,
    Origin,
    Session,
    Tool,
    ToolError,
    ToolOutput,
    Turn,
)
from hookline_hookspecs.host import Stash

TOOL_PLUGINS = {"session_search": "session-search", "memory": "memory", "skill_view": "skills"}
"""The tools, and the plugins that provide them."""


class ReaderContext:
    """The part of a ``Context`` that a read-only tool needs: the operator's chat, without a turn.

    A tool that uses more of a context is not read-only.
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
        """Do nothing: there is no one to notify."""


async def call_tool(host: Host, name: str, /, **arguments: Any) -> str:
    """Call a tool and return its answer. Raises ``ToolError``, and ``Refused`` from a guard."""
    tool = next((one for one in host.tools() if one.name == name), None)
    if tool is None:
        raise ToolError(
            f"plugin {TOOL_PLUGINS[name]} is off. The operator can run `hookline plugins enable "
            f"{TOOL_PLUGINS[name]}`"
        )
    checked = tool.check(arguments)
    reading = replace(tool, read_only=True)
    await host.services[Conversations].check_outside_turn(reading, checked)
    output = await _run(tool, ReaderContext(host), checked)
    if not isinstance(output, ToolOutput):
        return str(output)
    if not output.ok:
        raise ToolError(output.text.removeprefix("Error: "))
    return "\n".join([output.text, *(f"Note: {note}" for note in output.notes)])


async def _run(tool: Tool, ctx: ReaderContext, arguments: dict[str, Any]) -> Any:
    if tool.wants_context:
        arguments |= {"ctx": ctx}
    if tool.is_async:
        return await tool.run(**arguments)
    return await asyncio.to_thread(lambda: tool.run(**arguments))


async def list_skills(host: Host, commands: Sequence[Any], words: str) -> str:
    """Return the skills, or those that match ``words``, as ``/skills`` shows them."""
    command = next((one for one in commands if one.name == "/skills"), None)
    if command is None:
        raise ToolError(
            "plugin skills is off. The operator can run `hookline plugins enable skills`"
        )
    return str(await command.run(ReaderContext(host), words))
