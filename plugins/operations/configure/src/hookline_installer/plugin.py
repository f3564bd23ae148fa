"""Reports recorded plugins that are missing, at the start and in ``hookline doctor``."""

from __future__ import annotations

import os.path
from collections.abc import Callable

from hookline_hookspecs import (
    Check,
    CheckResult,
    Context,
    Host,
    NoConfig,
    Plugin,
    Session,
    hookimpl,
)

RESTORE = "hookline plugins install"
"""The command that reinstalls recorded plugins."""


class Installer(Plugin[NoConfig]):
    """Reports recorded plugins that are missing. Adds no tool and no slash command."""

    _notice: str = ""
    """The notice that the terminal has not shown yet."""

    @hookimpl
    def setup(self, host: Host) -> None:
        """Compare ``plugins.lock`` with what is installed, without importing anything."""
        self._notice = self._find_missing()
        if self._notice:
            self.log.warning("%s", self._notice)

    @hookimpl
    def start_of_session(self, ctx: Context, session: Session) -> None:
        """Show the notice once, on the terminal only: people on channels cannot act on it."""
        if self._notice and session.channel == "terminal" and session.parent_id is None:
            ctx.notify(self._notice)
            self._notice = ""

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """The doctor's check ``recorded plugins``."""
        register(Check("recorded plugins", self._check))

    def _check(self) -> CheckResult:
        from .lock import LockDamaged, LockFile
        from .missing_dists import find_missing, missing_sentence

        file = LockFile.in_home(self.host.home)
        try:
            entries = file.read()
        except LockDamaged as error:
            return CheckResult(False, str(error), f"repair {file.path}, or move it away")
        gone = find_missing(entries)
        if gone:
            return CheckResult(False, missing_sentence(gone), RESTORE)
        return CheckResult(True, f"{len(entries)} in plugins.lock, none missing")

    def _find_missing(self) -> str:
        if not os.path.lexists(self.host.home / "plugins.lock"):
            return ""  # the usual case; importing the reader would cost some milliseconds
        from .lock import LockDamaged, LockFile
        from .missing_dists import find_missing, missing_sentence

        try:
            gone = find_missing(LockFile.in_home(self.host.home).read())
        except LockDamaged as error:
            return str(error)
        if not gone:
            return ""
        return (
            f"{missing_sentence(gone)} Run `{RESTORE}` to reinstall, "
            "or `hookline plugins uninstall NAME` to forget."
        )
