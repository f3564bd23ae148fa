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
from .shared_folder import share_media

if TYPE_CHECKING:
    from .member import ClusterMember

NO_SHARED_STORE = "it needs a shared store: set `store: postgresql://…` in config.yaml"


class ClusterPlugin(Plugin[ClusterConfig]):
    """Distributes the work of network channels among gateways and workers."""

    needs_restart = True
    needs_no_channel = False
    runs_turns = False
    is_shared = True
    runs_turns_here = True
    _member: ClusterMember | None = None

    @hookimpl
    def setup(self, host: Host) -> None:
        """Provide the services.

        Raises ``HooklineError`` if the store cannot be shared by processes.
        """
        conninfo = host.services[Store].conninfo
        if conninfo is None:
            raise HooklineError(NO_SHARED_STORE)
        from .member import ClusterMember

        if self.config.files is not None:
            share_media(host.home, self.config.files)
        self._member = ClusterMember(self.config, host, str(conninfo))
        host.services.provide(WorkDistribution, self)
        host.services.add(GatewayService, self)

    @hookimpl
    async def teardown(self, host: Host) -> None:
        """Release everything at once, so that other processes can continue."""
        if self._member is not None:
            await self._member.leave()

    @property
    def member(self) -> ClusterMember:
        """This process in the cluster. Raises ``HooklineError`` if the plugin is not on."""
        if self._member is None:
            raise HooklineError(NO_SHARED_STORE)
        return self._member

    # The service WorkDistribution

    def sends(self, channel: str) -> bool:
        """Whether this process sends the channel's replies."""
        return not self.member.is_remote(channel)

    def received(
        self, channel: str, chat_id: str, answer: Callable[[], Coroutine[Any, Any, None]]
    ) -> None:
        """Queue the chat for a worker."""
        self.member.arrived(channel, chat_id)

    def replied(self, channel: str, chat_id: str) -> None:
        """Have the channel's gateway send the chat's replies."""
        self.host.spawn(self.member.channels.announce_reply(channel, chat_id), "announce reply")

    async def finish_left_over(self, finish: Callable[[], Awaitable[object]]) -> None:
        """Do nothing: workers find unfinished work by themselves, one chat at a time."""

    async def serve(self, turns: bool) -> None:
        """Join as a gateway, and also as a worker with ``turns``."""
        self.runs_turns_here = turns
        await self.member.join("gateway", self.config.turns if turns else 0)

    async def hold(self, channel: str) -> None:
        """Return once this process owns the channel."""
        await self.member.channels.hold(channel)

    # The service GatewayService

    async def gateway_up(self, channels: Sequence[str]) -> None:
        """Do nothing."""

    async def gateway_stopping(self) -> None:
        """Start nothing new and finish running turns."""
        await self.member.end(self.config.drain)
