"""Follows config.yaml while a process runs, and serves the pages of its settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hookline_hookspecs import (
    Check,
    CheckResult,
    Context,
    Host,
    Inbound,
    NoConfig,
    Plugin,
    Route,
    hookimpl,
)
from hookline_hookspecs.inspection import ConfigEditor

from .config_file import SafeConfigEditor
from .config_watcher import ConfigWatcher

if TYPE_CHECKING:
    from .pages import PluginPages


class Configure(Plugin[NoConfig]):
    """Adds the commands, and follows config.yaml while a process runs."""

    _watcher: ConfigWatcher | None = None
    _pages: PluginPages | None = None

    @hookimpl
    def register_routes(self, register: Callable[[Route], None]) -> None:
        """Register the pages of the plugins and their settings."""
        from .pages import PluginPages

        # Kept if the server asks again: the object holds edits that wait for confirmation.
        self._pages = self._pages or PluginPages(self.host)
        self._pages.register(register)

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """Check that config.yaml is not empty, as after an editor that has failed."""

        def check() -> CheckResult:
            path = self.host.home / "config.yaml"
            try:
                is_empty = path.is_file() and not path.read_bytes().strip()
            except OSError as error:
                return CheckResult(False, f"{path}: {error.strerror}", "make it readable")
            if is_empty:
                fix = "restore it, or delete it to use the defaults"
                detail = f"{path} is empty; a running gateway keeps what it has read before"
                return CheckResult(False, detail, fix)
            return CheckResult(True, "config.yaml is not empty")

        register(Check("config file", check))

    @hookimpl
    def setup(self, host: Host) -> None:
        """Remember what config.yaml holds now, and offer to edit it."""
        self._watcher = ConfigWatcher(host)
        host.services.provide(ConfigEditor, SafeConfigEditor(host))

    @hookimpl(tryfirst=True)
    async def on_message(self, ctx: Context, inbound: Inbound) -> None:
        """Follow a changed config.yaml before any other plugin checks the message."""
        if self._watcher is not None:
            await self._watcher.check(ctx)
