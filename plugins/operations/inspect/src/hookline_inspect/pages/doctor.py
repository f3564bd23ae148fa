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

from ..commands.doctor import run_check, run_checks
from ..plugin_listing import all_plugins

CHECK_TIMEOUT = 15.0
"""Seconds after which a check has failed."""


class DoctorPage:
    """The page of the doctor."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def show(self, request: RequestLike) -> View:
        """``GET /doctor``: the checks that do not use the network."""
        rows = await asyncio.gather(
            *(
                self._run_with_timeout(plugin, check)
                for plugin, check in self._host.registered(Check)
            )
        )
        return await self._view(rows, online=False)

    async def show_online(self, request: RequestLike) -> View:
        """``POST /doctor``: all checks, including one tiny request to test the model's key."""
        try:
            async with asyncio.timeout(4 * CHECK_TIMEOUT):
                rows: Sequence[dict[str, Any]] = await run_checks(self._host, offline=False)
        except TimeoutError:
            rows = [_timed_out_row("all checks", "inspect", 4 * CHECK_TIMEOUT)]
        return await self._view(rows, online=True)

    async def _run_with_timeout(self, plugin: str, check: Check) -> dict[str, Any]:
        try:
            async with asyncio.timeout(CHECK_TIMEOUT):
                return await run_check(plugin, check, offline=True)
        except TimeoutError:
            return _timed_out_row(check.name, plugin, CHECK_TIMEOUT)

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
            Row([channel.name, "other people" if channel.network else "admins only"])
            for channel in self._host.channels()
        ]
        empty = "No channels are on. Turn one on under Plugins."
        return Table(["Channel", "Open to"], rows, "Channels", empty)

    async def _failures(self) -> Part:
        """The recent failures of plugins, newest first."""
        found = [
            (error["at"], plugin["name"], error["hook"], error["reason"])
            for plugin in await all_plugins(self._host)
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
    message = "1 problem found" if failing == 1 else f"{failing} problems found"
    return Text(
        f"{message}. Run “hookline doctor --fix” to fix what can be fixed safely.", "warning"
    )


def _row(row: dict[str, Any]) -> Row:
    state = Badge("ok", "good") if row["ok"] else Badge("failed", "bad")
    return Row([row["name"], state, row["detail"], row["fix"] or None, row["plugin"]])


def _timed_out_row(name: str, plugin: str, seconds: float) -> dict[str, Any]:
    message = f"no answer within {seconds:g} seconds"
    fix = "Run “hookline doctor”, which waits longer."
    return {"name": name, "plugin": plugin, "ok": False, "detail": message, "fix": fix}
