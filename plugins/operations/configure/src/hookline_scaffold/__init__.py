"""``hookline plugins new NAME``: a ready repository for a plugin.

The command is in ``command``, what makes a name good in ``naming``, the files in ``templates``.
"""

from __future__ import annotations

from hookline_hookspecs import NoConfig, Plugin

__all__ = ["Scaffold"]


class Scaffold(Plugin[NoConfig]):
    """Its command is an entry point; the plugin switches it on and off."""
