"""Hookline plugin ``configure``: ``hookline config``, ``plugins enable`` and ``plugins disable``.

Reached by the entry point ``hookline_configure:Configure``. :mod:`.commands` is what a person sees,
:mod:`.file` changes config.yaml and keeps what people wrote.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline_hookspecs import NoConfig, Plugin, hookimpl

if TYPE_CHECKING:
    from hookline_hookspecs.hooks.boot import RegisterCli

__all__ = ["Configure"]


class Configure(Plugin[NoConfig]):
    """Adds the commands."""

    @hookimpl
    def register_cli(self, register: RegisterCli) -> None:
        """``hookline config`` with its commands, ``plugins enable`` and ``plugins disable``."""
        from .commands import ConfigCommands, SwitchCommands

        register("config", ConfigCommands(self.host).app())
        switches = SwitchCommands(self.host)
        register("plugins enable", switches.enable)
        register("plugins disable", switches.disable)
