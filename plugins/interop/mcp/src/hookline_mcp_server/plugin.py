"""The plugin: the command, and the channel of the turns that callers ask for."""

from __future__ import annotations

from collections.abc import Callable

from hookline_hookspecs import Channel, Context, Host, Plugin, Question, hookimpl

from .asking import CHANNEL, DENY, Asker, McpChannel
from .calls import Calls
from .config import McpServerConfig
from .reading import Reader


class McpServer(Plugin[McpServerConfig]):
    """Lets editors and other agents read sessions and ask the agent."""

    for_people = False
    """Its channel is for programs: `hookline init` does not offer it."""

    def __init__(self, config: McpServerConfig, host: Host) -> None:
        super().__init__(config, host)
        self.reader = Reader(host, config.chats)
        self.asker = Asker(host, config, self.reader)

    def calls(self, caller: str) -> Calls:
        """Return the tools for callers of one kind, ``stdio`` or ``http``."""
        return Calls(self.host, self.config, self.asker, self.reader, caller)

    @hookimpl
    def register_channels(self, register: Callable[[Channel], None]) -> None:
        """The channel ``mcp``."""
        register(McpChannel())

    @hookimpl(tryfirst=True)
    async def on_question(self, ctx: Context, question: Question) -> str | None:
        """Put an approval to callers where config lets them answer, else refuse it."""
        if ctx.session.channel != CHANNEL or question.kind != "approval":
            return None
        if "permissions_respond" not in self.config.allow:
            return DENY
        return await self.asker.put(ctx.session.id, question)
