"""``hookline plugins new NAME`` creates a plugin, and ``hookline dev PATH`` opens a chat with it.

The commands are in ``command`` and ``dev_command``, the rules for names in ``names``, the files in
``templates``.
"""

from __future__ import annotations

from hookline_hookspecs import Context, Host, Inbound, NoConfig, Plugin, hookimpl

from .development import reloader_from_environment

__all__ = ["Scaffold"]


class Scaffold(Plugin[NoConfig]):
    """Switches its commands on and off, and reloads the plugin that is being developed."""

    def __init__(self, config: NoConfig, host: Host) -> None:
        super().__init__(config, host)
        self._reloader = reloader_from_environment(host)

    @hookimpl
    async def on_message(self, ctx: Context, inbound: Inbound) -> None:
        """Reload the plugin that ``hookline dev`` watches, if its code has changed."""
        if self._reloader is not None:
            await self._reloader.reload_if_changed(ctx)
