"""Hookline plugin ``backup``: ``hookline backup create|list|verify|restore``.

Reached by the entry point ``hookline_backup:Backup``. :mod:`.contents` says what belongs to a
backup, :mod:`.archive` writes and reads the file, :mod:`.verifying` judges one, :mod:`.restoring`
puts a home in the place of another, :mod:`.holding` keeps what was open from being sent again. The
commands are imported when the command line is built.
"""

from __future__ import annotations

from collections.abc import Callable

from hookline_hookspecs import Check, CheckResult, NoConfig, Plugin, hookimpl

__all__ = ["Backup"]

CREATE = "hookline backup create"
STALE_DAYS = 30
"""Days after which the doctor says that the newest backup is old."""


class Backup(Plugin[NoConfig]):
    """Adds the commands, and lets the doctor say how old the newest backup is."""

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """The doctor's check ``newest backup``."""
        register(Check("newest backup", self._newest))

    def _newest(self) -> CheckResult:
        from .archive import backups

        found = backups(self.host.home)
        if not found:
            return CheckResult(True, f"none was made yet; `{CREATE}` makes one")
        days = (self.host.now() - found[-1].stat().st_mtime) / 86_400
        told = f"{found[-1].name}, {max(0, int(days))} days old"
        return CheckResult(days <= STALE_DAYS, told, "" if days <= STALE_DAYS else CREATE)
