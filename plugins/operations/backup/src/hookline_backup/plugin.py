"""The doctor's check that there is a recent backup."""

from __future__ import annotations

from collections.abc import Callable

from hookline_hookspecs import Check, CheckResult, NoConfig, Plugin, hookimpl

CREATE = "hookline backup create"
STALE_DAYS = 30
"""Days after which the newest backup fails the doctor's check."""


class Backup(Plugin[NoConfig]):
    """Adds the doctor's check of the newest backup; the commands are entry points."""

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """Register the doctor's check ``newest backup``."""
        register(Check("newest backup", self._newest))

    def _newest(self) -> CheckResult:
        from .archive import find_backups

        found = find_backups(self.host.home)
        if not found:
            return CheckResult(True, f"no backups yet; run `{CREATE}`")
        days = (self.host.now() - found[-1].stat().st_mtime) / 86_400
        detail = f"{found[-1].name}, {max(0, int(days))} days old"
        return CheckResult(days <= STALE_DAYS, detail, "" if days <= STALE_DAYS else CREATE)
