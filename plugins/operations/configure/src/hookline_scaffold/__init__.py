"""``hookline plugins new NAME``: a ready repository for a plugin.

The command is in ``command``, the rules for names in ``names``, the files in ``templates``.
"""

from __future__ import annotations

from hookline_hookspecs import NoConfig, Plugin

__all__ = ["Scaffold"]


class Scaffold(Plugin[NoConfig]):
    """Its command is an entry point; the plugin switches it on and off."""
