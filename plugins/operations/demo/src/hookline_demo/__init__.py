"""``hookline demo``: a real run of the product in which only the model's words are recorded.

The command is in ``command``, its stories in ``stories``; both are imported when they are needed.
"""

from __future__ import annotations

from hookline_hookspecs import NoConfig, Plugin

__all__ = ["Demo"]


class Demo(Plugin[NoConfig]):
    """Its command is an entry point; the plugin switches it on and off."""
