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
    t,
    tn,
    translate,
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
            t("Doctor"),
            [
                _verdict(len(failing)),
                Actions(
                    [
                        Action(t("Check network and model too"), "/doctor", style="primary"),
                        Action(t("Check again"), "/doctor", get=True),
                    ]
                ),
                Table(
                    [t("Check"), t("State"), t("Result"), t("Fix"), t("Plugin")],
                    [_row(row) for row in ordered],
                    title=t("Checks"),
                    empty=t("No checks."),
                ),
                self._channels(),
                await self._failures(),
            ],
            t("Including network checks.") if online else t("Without network checks."),
        )

    def _channels(self) -> Part:
        rows = [
            Row([channel.name, t("other people") if channel.network else t("admins only")])
            for channel in self._host.channels()
        ]
        empty = t("No channels are on. Turn one on under Plugins.")
        return Table([t("Channel"), t("Open to")], rows, t("Channels"), empty)

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
        empty = t("No failures.")
        return Table([t("When"), t("Plugin"), t("Hook"), t("Error")], rows, t("Failures"), empty)


def _verdict(failing: int) -> Part:
    if not failing:
        return Text(t("No problems found."), "good")
    found = tn("{n} problem found.", "{n} problems found.", failing)
    fix = t("Run “hookline doctor --fix” to fix what can be fixed safely.")
    return Text(f"{found} {fix}", "warning")


def _row(row: dict[str, Any]) -> Row:
    state = Badge(t("ok"), "good") if row["ok"] else Badge(t("failed"), "bad")
    texts = [translate(row[name]) for name in ("name", "detail", "fix")]
    return Row([texts[0], state, texts[1], texts[2] or None, row["plugin"]])


def _timed_out_row(name: str, plugin: str, seconds: float) -> dict[str, Any]:
    message = tn("no answer within {n} second", "no answer within {n} seconds", round(seconds))
    fix = t("Run “hookline doctor”, which waits longer.")
    return {"name": name, "plugin": plugin, "ok": False, "detail": message, "fix": fix}
