"""What a turn changed in memory, for the page of the turn."""

from __future__ import annotations

import json

from hookline_hookspecs import Host
from hookline_hookspecs.web import Group, Link, Row, Table, Timestamp, View, t

from .pages import change_words


class TurnMemoryView:
    """Shows the changes of a turn (protocol ``TurnViews``)."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def turn_view(self, session_id: str, turn_id: str) -> View | None:
        """Return what a turn, or its review, learned, changed or forgot; None if nothing."""
        rows = await self._host.storage.fetch("entries_of", session=session_id, turn=turn_id)
        cells = [
            Row(
                [
                    change_words(change),
                    str(change["after"] or change["before"] or ""),
                    row["origin"],
                    Timestamp(row["at"]),
                ]
            )
            for row in rows
            for change in json.loads(row["changes"])
        ]
        if not cells:
            return None
        more = Link(t("Memory change log"), "/memory/log")
        table = Table([t("Change"), t("Text"), t("Source"), t("When")], cells, more=more)
        return View(t("Turn"), [Group(t("Learned from this turn"), [table])])
