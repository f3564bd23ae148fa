"""The plugin: the same report for the model, in a chat and on the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict

from hookline_hookspecs import (
    Check,
    CheckResult,
    Context,
    Host,
    Plugin,
    Route,
    ToolError,
    ToolOutput,
    command,
    hookimpl,
    tool,
)
from hookline_hookspecs.people import RolePermissions
from hookline_hookspecs.prices import Prices

from .config import InsightsConfig
from .groups import BadBy, read_by
from .price_list import BadPrices, read_list
from .prices import NAME, ModelPrices, packaged
from .report import DAYS, BadDays, read_days
from .reporter import Reporter


class Insights(Plugin[InsightsConfig]):
    """Tells what was used."""

    def __init__(self, config: InsightsConfig, host: Host) -> None:
        super().__init__(config, host)
        own = {model: price.price() for model, price in config.prices.items()}
        self.prices = ModelPrices(host.home, own, config.currency)
        self.reporter = Reporter(self.prices, host)

    @hookimpl
    def setup(self, host: Host) -> None:
        """Offer the prices, so that every plugin tells the same money."""
        host.services.provide(Prices, self.prices)

    @hookimpl
    def register_routes(self, register: Callable[[Route], None]) -> None:
        """Register the page of the usage."""
        from .pages import InsightsPage

        InsightsPage(self.host, self.prices, self.reporter).register(register)

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """Check the home's list of prices."""
        register(Check("prices", self._check_prices))

    def _check_prices(self) -> CheckResult:
        path = self.host.home / NAME
        fix = "correct the file, delete it, or take another: hookline prices update FILE"
        if path.exists() and not path.is_file():  # reading a pipe may never end
            told = f"{path} is no file; the packaged prices are used"
            return CheckResult(False, told, fix)
        try:
            found = read_list(path.read_text(encoding="utf-8"), str(path))
        except FileNotFoundError:
            return CheckResult(True, f"{len(packaged().models)} prices of {packaged().date}")
        except (OSError, UnicodeDecodeError, BadPrices) as error:
            told = str(error).split("\n")[0]
            return CheckResult(False, f"{told}; the packaged prices are used", fix)
        return CheckResult(True, f"{len(found.models)} prices of {found.date} in {path}")

    @tool(name="insights", read_only=True, paged=True, origin="workspace")
    async def insights_tool(self, ctx: Context, days: int | None = None) -> ToolOutput:
        """Usage over the last days: tokens, cost, tools and their failures, skills."""
        try:
            asked = read_days(DAYS if days is None else days)
            found = await self.reporter.report(asked, _own(ctx))
        except BadDays as error:
            raise ToolError(str(error)) from error
        return ToolOutput(self.reporter.text(found), data=asdict(found))

    @command("/insights", audience="everyone", category="Sessions")
    async def insights_command(self, ctx: Context, args: str) -> str:
        """Show what was used over the last days: /insights 30 [by person|chat|database|skill]."""
        try:
            chat = await self._visible(ctx)
            words, by, what = args.partition("by")
            if by:
                wanted, days = read_by(what.strip()), read_days(words)
                found = await self.reporter.groups(wanted, days, chat)
                return self.reporter.groups_text(wanted, days, found)
            return self.reporter.text(await self.reporter.report(read_days(args), chat))
        except (BadDays, BadBy) as error:
            return f"{error}."

    async def _visible(self, ctx: Context) -> tuple[str, str] | None:
        """The chat whose numbers who writes may see; None is all."""
        permissions = self.host.services.get(RolePermissions)
        inbound = ctx.turn.inbound
        if permissions is not None and await permissions.may_read(inbound, "figures-of-all"):
            return None
        return _own(ctx)


def _own(ctx: Context) -> tuple[str, str] | None:
    """The chat whose numbers a turn may see; None is all, for the operator."""
    return None if ctx.operator else (ctx.session.channel, ctx.session.chat_id)
