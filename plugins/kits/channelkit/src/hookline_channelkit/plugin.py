"""The plugin of a channel: everything but its settings and its wire."""

from __future__ import annotations

import asyncio
import pkgutil
from collections.abc import Awaitable, Callable
from typing import ClassVar, TypeVar

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
    account. A subclass says where its :attr:`wire` is. The channel's name is the plugin's.
    """

    wire: ClassVar[str] = ""
    """Where the class of the wire is, ``hookline_pigeon.wire:PigeonWire``; it is imported when the
    channel is made, and called with the settings and the host."""
    channel: Kit | None = None

    def make_wire(self) -> Wire:
        """The wire to the platform; nothing is asked for yet."""
        made: Wire = pkgutil.resolve_name(self.wire)(self.config, self.host)
        return made

    def fault(self) -> str | None:
        """What is wrong with the settings, as ``PROBLEM; WHAT TO DO``, without asking the
        platform; None if nothing is."""
        return self.config.account_fault(self.host)

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
        untold = CheckResult(True, "not tried: the platform did not answer, or not this account")
        return await self._asked(self._missing, untold)

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

    async def _asked(
        self, ask: Callable[[Wire], Awaitable[CheckResult]], silent: CheckResult | None = None
    ) -> CheckResult:
        """Ask with a wire of its own, so that no connection of a channel is disturbed. ``silent``
        is the result where the platform does not answer, or does not know the account, if another
        check tells that."""
        wire = self.make_wire()
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                return await ask(wire)
        except Refused as error:
            return failed(str(error))
        except CannotStart as error:
            return silent or failed(str(error))
        except (HooklineError, OSError) as error:
            reason = str(error) or "no word from the platform in time"
            mend = "look at the network and at the addresses in the settings"
            return silent or failed(f"{reason}; {mend}")
        finally:
            await wire.aclose()


def failed(sentence: str) -> CheckResult:
    """A failure told as ``PROBLEM; WHAT TO DO``."""
    problem, _, fix = sentence.partition("; ")
    return CheckResult(False, problem, fix)
