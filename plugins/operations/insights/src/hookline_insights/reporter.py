"""Reports of one home: the numbers of its storage, priced and worded as its config says."""

from __future__ import annotations

from collections.abc import Sequence

from hookline_hookspecs import Host
from hookline_hookspecs.prices import Prices

from .groups import Group, groups
from .report import Report, report
from .text import groups_text, text


class Reporter:
    """Makes reports; shared by the tool, the slash command and the command line."""

    def __init__(self, prices: Prices, host: Host) -> None:
        self._prices = prices
        self._host = host

    async def report(self, days: int, chat: tuple[str, str] | None) -> Report:
        """The numbers of ``days`` days, of a chat (channel and id) or of all."""
        return await report(self._host.storage, days, self._host.now(), chat, self._prices)

    async def groups(self, by: str, days: int, chat: tuple[str, str] | None) -> list[Group]:
        """What each person, chat, database or skill used, of a chat or of all."""
        return await groups(self._host.storage, by, days, self._host.now(), chat, self._prices)

    def groups_text(self, by: str, days: int, found: Sequence[Group]) -> str:
        """The same for people."""
        return groups_text(by, days, found, self._prices.format)

    def text(self, found: Report) -> str:
        """The report for people."""
        return text(found, self._prices.format)
