"""Creates the usage reports of one home, with its prices and currency."""

from __future__ import annotations

from collections.abc import Sequence

from hookline_hookspecs import Host
from hookline_hookspecs.prices import Prices

from .groups import UsageGroup, groups
from .report import UsageReport, report
from .report_text import groups_text, report_text


class Reporter:
    """Creates reports for the tool, the slash command, the command line and the page."""

    def __init__(self, prices: Prices, host: Host) -> None:
        self._prices = prices
        self._host = host

    async def report(self, days: int, chat: tuple[str, str] | None) -> UsageReport:
        """The usage of ``days`` days, of one chat (channel and id) or of all."""
        return await report(self._host.storage, days, self._host.now(), chat, self._prices)

    async def groups(self, by: str, days: int, chat: tuple[str, str] | None) -> list[UsageGroup]:
        """The usage by person, chat, database or skill, of one chat or of all."""
        return await groups(self._host.storage, by, days, self._host.now(), chat, self._prices)

    def groups_text(self, by: str, days: int, found: Sequence[UsageGroup]) -> str:
        """The groups as text."""
        return groups_text(by, days, found, self._prices.format)

    def text(self, found: UsageReport) -> str:
        """The report as text."""
        return report_text(found, self._prices.format)
