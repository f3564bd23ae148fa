"""``hookline demo``: a real run of Hookline in which only the model's words are recorded.

:mod:`.command` has the command, :mod:`.stories` its stories; they are imported when needed.
"""

from __future__ import annotations

from hookline_hookspecs import NoConfig, Plugin

__all__ = ["Demo"]


class Demo(Plugin[NoConfig]):
    """The command is an entry point; this plugin turns it on and off."""
