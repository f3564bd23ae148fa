"""Reports of one home: the numbers of its storage, priced and worded as its config says."""

from __future__ import annotations

from hookline_hookspecs import Host
from hookline_prices import Prices

from .report import Report, report
from .text import text


class Reporter:
    """Makes reports; shared by the tool, the slash command and the command line."""

    def __init__(self, prices: Prices, host: Host) -> None:
        self._prices = prices
        self._host = host

    async def report(self, days: int, chat: tuple[str, str] | None) -> Report:
        """The numbers of ``days`` days, of a chat (channel and id) or of all."""
        return await report(self._host.storage, days, self._host.now(), chat, self._prices)

    def text(self, found: Report) -> str:
        """The report for people."""
        return text(found, self._prices.formatted)
