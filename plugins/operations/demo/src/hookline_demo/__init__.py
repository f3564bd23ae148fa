"""``hookline demo``: a real run of the product in which only the model's words are recorded.

The command is in ``command``, its stories in ``stories``; both are imported when they are needed.
"""

from __future__ import annotations

from hookline_hookspecs import NoConfig, Plugin, hookimpl
from hookline_hookspecs.hooks.boot import RegisterCli

__all__ = ["Demo"]


class Demo(Plugin[NoConfig]):
    """Adds the command ``demo``."""

    @hookimpl
    def register_cli(self, register: RegisterCli) -> None:
        """Register ``hookline demo``."""
        from .command import demo

        register("demo", demo, help="A real run without a key; only the model's words are recorded")
