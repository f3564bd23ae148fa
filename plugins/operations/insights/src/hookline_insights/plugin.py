"""The plugin: usage reports for the model, chats and the command line, and the prices."""

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
from .groups import InvalidGrouping, parse_grouping
from .price_list import InvalidPriceList, read_list
from .prices import PRICE_FILE, ModelPrices, packaged_list
from .report import DEFAULT_DAYS, InvalidDays, parse_days
from .reporter import Reporter


class Insights(Plugin[InsightsConfig]):
    """Reports usage and cost, and provides the prices of models."""

    def __init__(self, config: InsightsConfig, host: Host) -> None:
        super().__init__(config, host)
        own = {model: price.price() for model, price in config.prices.items()}
        home_list = host.watched(host.home / PRICE_FILE, lambda text: read_list(text, PRICE_FILE))
        self.prices = ModelPrices(home_list, own, config.currency)
        self.reporter = Reporter(self.prices, host)

    @hookimpl
    def setup(self, host: Host) -> None:
        """Provide the prices, so that all plugins show the same amounts."""
        host.services.provide(Prices, self.prices)

    @hookimpl
    def register_routes(self, register: Callable[[Route], None]) -> None:
        """Register the page ``/insights``."""
        from .pages import InsightsPage

        InsightsPage(self.host, self.prices, self.reporter).register(register)

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """Register the doctor's check of the home's price list."""
        register(Check("prices", self._check_prices))

    def _check_prices(self) -> CheckResult:
        path = self.host.home / PRICE_FILE
        fix = "correct the file, delete it, or load another: hookline prices update FILE"
        if path.exists() and not path.is_file():  # reading a pipe may never end
            detail = f"{path} is not a regular file; the built-in prices are used"
            return CheckResult(False, detail, fix)
        try:
            found = read_list(path.read_text(encoding="utf-8"), str(path))
        except FileNotFoundError:
            return CheckResult(
                True, f"{len(packaged_list().models)} prices of {packaged_list().date}"
            )
        except (OSError, UnicodeDecodeError, InvalidPriceList) as error:
            problem = str(error).split("\n")[0]
            return CheckResult(False, f"{problem}; the built-in prices are used", fix)
        return CheckResult(True, f"{len(found.models)} prices of {found.date} in {path}")

    @tool(name="insights", read_only=True, paged=True, origin="workspace")
    async def insights_tool(self, ctx: Context, days: int | None = None) -> ToolOutput:
        """Usage over the last days: tokens, cost, tools and their failures, skills."""
        try:
            day_count = parse_days(DEFAULT_DAYS if days is None else days)
            found = await self.reporter.report(day_count, _own(ctx))
        except InvalidDays as error:
            raise ToolError(str(error)) from error
        return ToolOutput(self.reporter.text(found), data=asdict(found))

    @command("/insights", audience="everyone", category="Sessions")
    async def insights_command(self, ctx: Context, args: str) -> str:
        """Show usage and cost: /insights DAYS [by person|chat|database|skill]."""
        try:
            chat = await self._visible(ctx)
            words, by, what = args.partition("by")
            if by:
                grouping, days = parse_grouping(what.strip()), parse_days(words)
                found = await self.reporter.groups(grouping, days, chat)
                return self.reporter.groups_text(grouping, days, found)
            return self.reporter.text(await self.reporter.report(parse_days(args), chat))
        except (InvalidDays, InvalidGrouping) as error:
            return f"{error}."

    async def _visible(self, ctx: Context) -> tuple[str, str] | None:
        """The chat whose usage the person may see; None means all."""
        permissions = self.host.services.get(RolePermissions)
        inbound = ctx.turn.inbound
        if permissions is not None and await permissions.may_read(inbound, "figures-of-all"):
            return None
        return _own(ctx)


def _own(ctx: Context) -> tuple[str, str] | None:
    """The chat whose usage a turn may see; None means all, for the operator."""
    return None if ctx.operator else (ctx.session.channel, ctx.session.chat_id)
