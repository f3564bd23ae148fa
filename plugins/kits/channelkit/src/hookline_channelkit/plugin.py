"""The plugin of a channel, without its settings and its client."""

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

from .channel import ChannelOptions, NetworkChannel
from .client import PlatformClient
from .config import ChannelConfig
from .errors import CannotStart, PermissionDenied

C = TypeVar("C", bound=ChannelConfig)
CHECK_TIMEOUT = 4.0
"""Seconds for the request of a doctor check; the whole check has 5 s."""


class ChannelPlugin(Plugin[C]):
    """Creates, registers and closes a channel, and adds its checks to ``hookline doctor``.

    A subclass sets :attr:`client`. The channel has the plugin's name.
    """

    client: ClassVar[str] = ""
    """Path of the client's class, ``hookline_pigeon.client:PigeonClient``. It is imported when the
    channel is created, and called with the settings and the host."""
    channel: NetworkChannel | None = None

    def make_client(self) -> PlatformClient:
        """Create the platform client; it makes no request yet."""
        client: PlatformClient = pkgutil.resolve_name(self.client)(self.config, self.host)
        return client

    def settings_problem(self) -> str | None:
        """Return a problem of the settings as ``PROBLEM; WHAT TO DO``, or None.

        The platform is not asked.
        """
        return self.config.account_problem(self.host)

    @hookimpl
    def setup(self, host: Host) -> None:
        """Create the channel; the gateway starts it."""
        options = ChannelOptions.from_config(self.config)
        self.channel = NetworkChannel(host, self.make_client(), options)

    @hookimpl
    async def teardown(self, host: Host) -> None:
        """Close the channel."""
        if self.channel is not None:
            await self.channel.aclose()

    @hookimpl
    def register_channels(self, register: Callable[[Channel], None]) -> None:
        """Register the channel."""
        if self.channel is not None:
            register(self.channel)

    @hookimpl(trylast=True)
    def on_message(self, ctx: Context, inbound: Inbound) -> None:
        """Pass messages that no plugin has refused to the channel."""
        if self.channel is not None and inbound.channel == self.channel.name:
            self.channel.accepted(inbound)

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """Check that the platform accepts the token and that the bot has all permissions."""
        register(Check("token", self._check_token))
        register(Check("permissions", self._check_permissions))

    async def _check_token(self, offline: bool = False) -> CheckResult:
        if (problem := self.settings_problem()) is not None:
            return failed_check(problem)
        if offline:
            return CheckResult(True, "the token looks valid; not tested offline")

        async def check(client: PlatformClient) -> CheckResult:
            return CheckResult(True, await client.whoami())

        return await self._with_client(check)

    async def _check_permissions(self, offline: bool = False) -> CheckResult:
        channel = self.channel
        if offline or channel is None or self.settings_problem() is not None:
            return CheckResult(True, "not tested")

        async def check(client: PlatformClient) -> CheckResult:
            found = [*await client.missing_permissions(), *await channel.problems.recent()]
            if not found:
                return CheckResult(True, "no permission is missing")
            parts = [sentence.partition("; ") for sentence in dict.fromkeys(found)]
            fixes = dict.fromkeys(fix for _, _, fix in parts if fix)
            return CheckResult(False, "; ".join(what for what, _, _ in parts), "; ".join(fixes))

        # The check "token" reports a platform that does not answer or rejects the account.
        return await self._with_client(check, CheckResult(True, "not tested: no answer"))

    async def _with_client(
        self,
        check: Callable[[PlatformClient], Awaitable[CheckResult]],
        unreachable: CheckResult | None = None,
    ) -> CheckResult:
        """Run a check with its own client, so that no connection of the channel is disturbed.
        ``unreachable`` is the result if the platform does not answer or rejects the account; by
        default that is a failure."""
        client = self.make_client()
        try:
            async with asyncio.timeout(CHECK_TIMEOUT):
                return await check(client)
        except PermissionDenied as error:
            return failed_check(str(error))
        except CannotStart as error:
            return unreachable or failed_check(str(error))
        except (HooklineError, OSError) as error:
            reason = str(error) or "the platform did not answer in time"
            fix = "check the network and the addresses in the settings"
            return unreachable or failed_check(f"{reason}; {fix}")
        finally:
            await client.aclose()


def failed_check(sentence: str) -> CheckResult:
    """Return a failed check from a sentence ``PROBLEM; WHAT TO DO``."""
    problem, _, fix = sentence.partition("; ")
    return CheckResult(False, problem, fix)
