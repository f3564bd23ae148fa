"""``hookline plugins install`` and ``uninstall``, and word of recorded plugins that are gone.

The commands are in ``commands``, imported when the command line is built. At a start, nothing but
``plugins.lock`` and the metadata of the dists it names is read; without that file, nothing.
"""

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

__all__ = ["Installer"]

RESTORE = "hookline plugins install"
"""The command that brings recorded plugins back."""
INSTALL_HELP = "Install a plugin and switch it on; alone, restore what plugins.lock records"
UNINSTALL_HELP = "Switch a plugin off and remove it; what it stored stays"


class Installer(Plugin[NoConfig]):
    """Adds the commands, and says when a recorded plugin is gone. No tool, no slash command."""

    _news: str = ""
    """What a person at the terminal is still to be told."""

    @hookimpl
    def setup(self, host: Host) -> None:
        """Compare ``plugins.lock`` with what is installed; nothing is imported for it."""
        self._news = self._compared()
        if self._news:
            self.log.warning("%s", self._news)

    @hookimpl
    def start_of_session(self, ctx: Context, session: Session) -> None:
        """Tell it once, and only on the terminal: it is nothing for those who write in."""
        if self._news and session.channel == "terminal" and session.parent_id is None:
            ctx.notify(self._news)
            self._news = ""

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """The doctor's check ``recorded plugins``."""
        register(Check("recorded plugins", self._check))

    def _check(self) -> CheckResult:
        from .lock import LockDamaged, LockFile
        from .missing_dists import lost, sentence

        file = LockFile.of(self.host.home)
        try:
            entries = file.read()
        except LockDamaged as error:
            return CheckResult(False, str(error), f"mend {file.path}, or move it away")
        gone = lost(entries)
        if gone:
            return CheckResult(False, sentence(gone), RESTORE)
        return CheckResult(True, f"{len(entries)} in plugins.lock, none is missing")

    def _compared(self) -> str:
        if not os.path.lexists(self.host.home / "plugins.lock"):
            return ""  # Most homes have none; reading one costs the start some milliseconds.
        from .lock import LockDamaged, LockFile
        from .missing_dists import lost, sentence

        try:
            gone = lost(LockFile.of(self.host.home).read())
        except LockDamaged as error:
            return str(error)
        if not gone:
            return ""
        return f"{sentence(gone)} `{RESTORE}` restores, `hookline plugins uninstall NAME` forgets."
