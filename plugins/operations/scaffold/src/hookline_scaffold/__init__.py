"""``hookline plugins new NAME``: a ready repository for a plugin.

The command is in ``command``, what makes a name good in ``naming``, the files in ``templates``.
"""

from __future__ import annotations

from hookline_hookspecs import NoConfig, Plugin, hookimpl
from hookline_hookspecs.hooks.boot import RegisterCli

__all__ = ["Scaffold"]


class Scaffold(Plugin[NoConfig]):
    """Adds the command ``plugins new``."""

    @hookimpl
    def register_cli(self, register: RegisterCli) -> None:
        """Register ``hookline plugins new``."""
        from .command import new

        register("plugins new", new, help="Make a repository for a plugin of your own.")
