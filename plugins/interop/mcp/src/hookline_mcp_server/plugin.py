"""The plugin ``mcp-server``: its channel, and the approvals in callers' turns."""

from __future__ import annotations

from collections.abc import Callable

from hookline_hookspecs import Channel, Context, Host, Plugin, Question, hookimpl
from hookline_hookspecs.questions import DENY

from .agent_turns import CHANNEL, AgentTurns, McpChannel
from .caller_tools import CallerTools
from .config import McpServerConfig
from .session_reader import SessionReader


class McpServer(Plugin[McpServerConfig]):
    """Serves sessions, memory, skills and the agent to editors and other agents."""

    for_people = False
    """Its channel is for programs, so `hookline init` does not offer it."""

    def __init__(self, config: McpServerConfig, host: Host) -> None:
        super().__init__(config, host)
        self.reader = SessionReader(host, config.chats)
        self.turns = AgentTurns(host, config, self.reader)

    def caller_tools(self, caller: str) -> CallerTools:
        """Return the tools for callers of one kind, ``stdio`` or ``http``."""
        return CallerTools(self.host, self.config, self.turns, self.reader, caller)

    @hookimpl
    def register_channels(self, register: Callable[[Channel], None]) -> None:
        """Register the channel ``mcp``."""
        register(McpChannel())

    @hookimpl(tryfirst=True)
    async def on_question(self, ctx: Context, question: Question) -> str | None:
        """Pass an approval to callers if config allows them to answer, else refuse it."""
        if ctx.session.channel != CHANNEL or question.kind != "approval":
            return None
        if "permissions_respond" not in self.config.allow:
            return DENY
        return await self.turns.ask_caller(ctx.session.id, question)
