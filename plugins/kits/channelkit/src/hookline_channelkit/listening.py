"""Wires that begin without a network, and whose client is made when it is first needed."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any, Protocol, TypeVar, overload

from hookline_hookspecs import HooklineError, Host

from .arrivals import Take
from .config import ChannelConfig
from .errors import CannotStart
from .wire import Wire

CONNECT_SECONDS = 10.0
"""For the platform's first word; without it receiving begins all the same."""


class Closing(Protocol):
    """What has connections."""

    async def aclose(self) -> None:
        """Close them."""


T = TypeVar("T", bound=Closing)


class ListeningWire(Wire):
    """A wire that receives by :meth:`listen`.

    Args:
        host: the plugin's host.
        config: the settings, for a wire with a :class:`client`.

    Attributes:
        account: the credentials by name.
        take: what takes an arrival, once :meth:`connect` was called.
    """

    def __init__(self, host: Host, config: ChannelConfig | None = None) -> None:
        self.host, self._settings = host, config
        self.account = {} if config is None else config.account(host)
        self.take: Take | None = None
        self._clients: list[Closing] = []

    async def connect(self, take: Take) -> None:
        """Begin to receive. Raises :class:`CannotStart` for an account that the platform does not
        know; without a network it begins, and goes on as soon as there is one."""
        await self.disconnect()
        self.take = take
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await self.greet()
        except CannotStart:
            raise
        except (HooklineError, OSError) as error:
            self.host.log.warning("beginning without the platform: %s", error or "no answer")
        await self.listen(take)

    async def greet(self) -> None:
        """A first request, which proves the account."""
        await self.whoami()

    @abstractmethod
    async def listen(self, take: Take) -> None:
        """Begin to receive, with or without a network. Raises :class:`CannotStart`."""

    def heard(self) -> None:
        """A sign of life."""
        if self.take is not None:
            self.take.heard()

    def broken(self, reason: str) -> None:
        """Receiving has ended by itself."""
        if self.take is not None:
            self.take.broken(reason)

    def open(self, made: T) -> T:
        """Have something closed with the wire."""
        self._clients.append(made)
        return made

    def ready(self) -> None:
        """Raise :class:`CannotStart` if the account's settings will not do."""
        if self._settings is not None and (fault := self._settings.account_fault(self.host)):
            raise CannotStart(fault)

    async def aclose(self) -> None:
        """Receive no more, and close what was opened."""
        await self.disconnect()
        for client in self._clients:
            await client.aclose()


class client(cached_property[T]):
    """A method of a :class:`ListeningWire` that makes what talks to the platform: once, when it is
    first needed, so that a slow library is imported then. It is closed with the wire. Raises
    :class:`CannotStart` where the account's settings will not do."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        super().__init__(make)

    @overload
    def __get__(self, wire: None, owner: type[Any] | None = None) -> client[T]: ...
    @overload
    def __get__(self, wire: object, owner: type[Any] | None = None) -> T: ...
    def __get__(self, wire: Any, owner: type[Any] | None = None) -> Any:
        if wire is None:
            return self
        wire.ready()
        return wire.open(super().__get__(wire, owner))
