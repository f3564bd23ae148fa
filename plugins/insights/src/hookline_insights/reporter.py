"""Reports of one home: the numbers of its storage, priced and worded as its config says."""

from __future__ import annotations

from hookline_hookspecs import Host

from .config import InsightsConfig
from .prices import Prices
from .report import Report, report
from .text import text


class Reporter:
    """Makes reports; shared by the tool, the slash command and the command line."""

    def __init__(self, config: InsightsConfig, host: Host) -> None:
        self._config = config
        self._host = host

    async def report(self, days: int, chat: tuple[str, str] | None) -> Report:
        """The numbers of ``days`` days, of a chat (channel and id) or of all."""
        prices = Prices(self._config.prices)
        return await report(self._host.storage, days, self._host.now(), chat, prices)

    def text(self, found: Report) -> str:
        """The report for people."""
        return text(found, self._config.currency, Prices({}).date)
