"""The plugin of a channel: everything but its settings and its wire."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Awaitable, Callable
from typing import TypeVar

from hookline_hookspecs import (
    Channel,
    Check,
    CheckResult,
    Context,
    HooklineError,
    Host,
    Inbound,
    Plugin,
    hookimpl,
)

from .config import ChannelConfig
from .errors import CannotStart, Refused
from .kit import Kit, KitOptions
from .wire import Wire

C = TypeVar("C", bound=ChannelConfig)
CHECK_SECONDS = 4.0
"""For a request of the doctor; a check has 5 s in all."""


class ChannelPlugin(Plugin[C]):
    """Brings a channel: makes it, registers it, closes it, and has ``hookline doctor`` try the
    account. A subclass writes :meth:`make_wire` and :meth:`fault`.

    The channel's name is the plugin's. Heavy imports belong into :meth:`make_wire`.
    """

    channel: Kit | None = None

    @abstractmethod
    def make_wire(self) -> Wire:
        """The wire to the platform; nothing is asked for yet."""

    def fault(self) -> str | None:
        """What is wrong with the settings, as ``PROBLEM; WHAT TO DO``, without asking the
        platform; None if nothing is."""
        return None

    @hookimpl
    def setup(self, host: Host) -> None:
        """Make the channel; the gateway starts it."""
        self.channel = Kit(host, self.make_wire(), KitOptions.of(self.config))

    @hookimpl
    async def teardown(self, host: Host) -> None:
        """Close what is open."""
        if self.channel is not None:
            await self.channel.aclose()

    @hookimpl
    def register_channels(self, register: Callable[[Channel], None]) -> None:
        """The channel."""
        if self.channel is not None:
            register(self.channel)

    @hookimpl(trylast=True)
    def on_message(self, ctx: Context, inbound: Inbound) -> None:
        """Hear of messages that nobody has refused; nothing is refused or changed."""
        if self.channel is not None and inbound.channel == self.channel.name:
            self.channel.passed(inbound)

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """That the platform knows the token, and that the bot may do what it needs to."""
        register(Check("token", self._token))
        register(Check("permissions", self._permissions))

    async def _token(self, offline: bool = False) -> CheckResult:
        if (fault := self.fault()) is not None:
            return failed(fault)
        if offline:
            return CheckResult(True, "the token looks like one; it is not tried offline")
        return await self._asked(self._whoami)

    async def _permissions(self, offline: bool = False) -> CheckResult:
        channel = self.channel
        if offline or channel is None or self.fault() is not None:
            return CheckResult(True, "not tried")
        return await self._asked(self._missing)

    async def _whoami(self, wire: Wire) -> CheckResult:
        return CheckResult(True, await wire.whoami())

    async def _missing(self, wire: Wire) -> CheckResult:
        told = [] if self.channel is None else await self.channel.refusals.recent()
        problems = list(dict.fromkeys([*await wire.missing(), *told]))
        if not problems:
            return CheckResult(True, "nothing is missing")
        parts = [problem.partition("; ") for problem in problems]
        fixes = dict.fromkeys(fix for _, _, fix in parts if fix)
        return CheckResult(False, "; ".join(what for what, _, _ in parts), "; ".join(fixes))

    async def _asked(self, ask: Callable[[Wire], Awaitable[CheckResult]]) -> CheckResult:
        """Ask with a wire of its own, so that no connection of a channel is disturbed."""
        wire = self.make_wire()
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                return await ask(wire)
        except (CannotStart, Refused) as error:
            return failed(str(error))
        except (HooklineError, OSError) as error:
            reason = str(error) or "no word from the platform in time"
            return failed(f"{reason}; look at the network and at the addresses in the settings")
        finally:
            await wire.aclose()


def failed(sentence: str) -> CheckResult:
    """A failure told as ``PROBLEM; WHAT TO DO``."""
    problem, _, fix = sentence.partition("; ")
    return CheckResult(False, problem, fix)
