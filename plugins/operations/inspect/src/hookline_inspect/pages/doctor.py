"""``/doctor``: the checks with their fixes, the channels, and failures of plugins."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from hookline_hookspecs import Check, Host
from hookline_hookspecs.web import (
    Action,
    Actions,
    Badge,
    Code,
    Part,
    RequestLike,
    Row,
    Table,
    Text,
    Timestamp,
    View,
)

from ..commands.doctor import checked, run_check
from ..listing import every_plugin

SECONDS = 15.0
"""A check that takes longer has failed."""


class DoctorPage:
    """The page of the doctor."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def show(self, request: RequestLike) -> View:
        """``GET /doctor``: the checks that go nowhere on the network."""
        rows = await asyncio.gather(
            *(self._in_time(plugin, check) for plugin, check in self._host.registered(Check))
        )
        return await self._view(rows, online=False)

    async def show_online(self, request: RequestLike) -> View:
        """``POST /doctor``: all checks; one tiny request tries the model's key."""
        try:
            async with asyncio.timeout(4 * SECONDS):
                rows: Sequence[dict[str, Any]] = await checked(self._host, offline=False)
        except TimeoutError:
            rows = [_late("all checks", "inspect", 4 * SECONDS)]
        return await self._view(rows, online=True)

    async def _in_time(self, plugin: str, check: Check) -> dict[str, Any]:
        try:
            async with asyncio.timeout(SECONDS):
                return await run_check(plugin, check, offline=True)
        except TimeoutError:
            return _late(check.name, plugin, SECONDS)

    async def _view(self, rows: Sequence[dict[str, Any]], *, online: bool) -> View:
        failing = [row for row in rows if not row["ok"]]
        ordered = [*failing, *(row for row in rows if row["ok"])]
        return View(
            "Doctor",
            [
                _verdict(len(failing)),
                Actions(
                    [
                        Action("Check network and model too", "/doctor", style="primary"),
                        Action("Check again", "/doctor", get=True),
                    ]
                ),
                Table(
                    ["Check", "State", "Result", "Fix", "Plugin"],
                    [_row(row) for row in ordered],
                    title="Checks",
                    empty="No checks.",
                ),
                self._channels(),
                await self._failures(),
            ],
            "Including network checks." if online else "Without network checks.",
        )

    def _channels(self) -> Part:
        rows = [
            Row([one.name, "other people" if one.network else "admins only"])
            for one in self._host.channels()
        ]
        empty = "No channels are on. Turn one on under Plugins."
        return Table(["Channel", "Open to"], rows, "Channels", empty)

    async def _failures(self) -> Part:
        """What plugins failed with lately, newest first."""
        found = [
            (error["at"], plugin["name"], error["hook"], error["reason"])
            for plugin in await every_plugin(self._host)
            for error in plugin["errors"]
        ]
        rows = [
            Row([Timestamp(at), name, hook, Code(reason)])
            for at, name, hook, reason in sorted(found, reverse=True)[:50]
        ]
        empty = "No failures."
        return Table(["When", "Plugin", "Hook", "Error"], rows, "Failures", empty)


def _verdict(failing: int) -> Part:
    if not failing:
        return Text("No problems found.", "good")
    told = "1 problem found" if failing == 1 else f"{failing} problems found"
    return Text(f"{told}. Run “hookline doctor --fix” to fix what can be fixed safely.", "warning")


def _row(row: dict[str, Any]) -> Row:
    state = Badge("ok", "good") if row["ok"] else Badge("failed", "bad")
    return Row([row["name"], state, row["detail"], row["fix"] or None, row["plugin"]])


def _late(name: str, plugin: str, seconds: float) -> dict[str, Any]:
    told = f"no answer within {seconds:g} seconds"
    fix = "Run “hookline doctor”, which waits longer."
    return {"name": name, "plugin": plugin, "ok": False, "detail": told, "fix": fix}
