"""Hookline plugin ``configure``: ``config``, ``plugins enable|disable`` and ``completion``.

Reached by the entry point ``hookline_configure:Configure``. :mod:`.commands` and :mod:`.switches`
are what a person sees, :mod:`.checking` finds every error, :mod:`.file` changes config.yaml and
keeps what people wrote, :mod:`.follow` notices changes of it while a process runs. :mod:`.clone`
and :mod:`.environment` find the command that installs a plugin, :mod:`.completion` answers shells.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hookline_hookspecs import Context, Host, Inbound, NoConfig, Plugin, Route, hookimpl

from .follow import Follower

if TYPE_CHECKING:
    from .pages import PluginPages

__all__ = ["Configure"]


class Configure(Plugin[NoConfig]):
    """Adds the commands, and follows config.yaml while a process runs."""

    _follower: Follower | None = None
    _pages: PluginPages | None = None

    @hookimpl
    def register_routes(self, register: Callable[[Route], None]) -> None:
        """Register the pages of the plugins and their settings."""
        from .pages import PluginPages

        # The same again, when the server asks anew: changes may wait in it for a person's yes.
        self._pages = self._pages or PluginPages(self.host)
        self._pages.register(register)

    @hookimpl
    def setup(self, host: Host) -> None:
        """Note what config.yaml holds now."""
        self._follower = Follower(host)

    @hookimpl(tryfirst=True)
    async def on_message(self, ctx: Context, inbound: Inbound) -> None:
        """Follow a changed config.yaml before any other plugin judges the message."""
        if self._follower is not None:
            await self._follower.check(ctx)
