"""The plugin: how work is shared (services ``WorkDistribution`` and ``GatewayService``)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import (
    GatewayService,
    HooklineError,
    Host,
    Plugin,
    WorkDistribution,
    hookimpl,
)
from hookline_hookspecs.drivers import Store

from .config import ClusterConfig
from .files import share_media

if TYPE_CHECKING:
    from .member import Member

NO_STORE = "it needs a store that processes share: set `store: postgresql://…` in config.yaml"


class ClusterPlugin(Plugin[ClusterConfig]):
    """Divides the work of network channels among gateways and workers."""

    needs_no_channel = False
    runs_turns = False
    is_shared = True
    runs_turns_here = True
    _member: Member | None = None

    @hookimpl
    def setup(self, host: Host) -> None:
        """Offer the services.

        Raises ``HooklineError`` where the store is not one that processes share.
        """
        conninfo = host.services[Store].conninfo
        if conninfo is None:
            raise HooklineError(NO_STORE)
        from .member import Member

        if self.config.files is not None:
            share_media(host.home, self.config.files)
        self._member = Member(self.config, host, str(conninfo))
        host.services.provide(WorkDistribution, self)
        host.services.add(GatewayService, self)

    @hookimpl
    async def teardown(self, host: Host) -> None:
        """Let go of everything at once, so that others go on with it."""
        if self._member is not None:
            await self._member.leave()

    @property
    def member(self) -> Member:
        """This process in the cluster. Raises ``HooklineError`` if the plugin is not on."""
        if self._member is None:
            raise HooklineError(NO_STORE)
        return self._member

    # The service WorkDistribution

    def sends(self, channel: str) -> bool:
        """Whether this process sends the channel's replies."""
        return not self.member.is_elsewhere(channel)

    def received(
        self, channel: str, chat_id: str, answer: Callable[[], Coroutine[Any, Any, None]]
    ) -> None:
        """Have a worker look at the chat."""
        self.member.arrived(channel, chat_id)

    def replied(self, channel: str, chat_id: str) -> None:
        """Have the channel's gateway send what waits for the chat."""
        self.host.spawn(self.member.channels.tell(channel, chat_id), "tell gateway")

    async def finish_left_over(self, finish: Callable[[], Awaitable[object]]) -> None:
        """Workers find it by themselves, one chat at a time."""

    async def serve(self, turns: bool) -> None:
        """Take part as a gateway, and as a worker too with ``turns``."""
        self.runs_turns_here = turns
        await self.member.join("gateway", self.config.turns if turns else 0)

    async def hold(self, channel: str) -> None:
        """Return once this process owns the channel."""
        await self.member.channels.hold(channel)

    # The service GatewayService

    async def gateway_up(self, channels: Sequence[str]) -> None:
        """Nothing is to be done."""

    async def gateway_stopping(self) -> None:
        """Begin with nothing new."""
        await self.member.end(self.config.drain)
