"""Hookline plugin ``migrate``: ``hookline migrate plan|apply|undo SOURCE``.

Reached by the entry point ``hookline_migrate:Migrate``. :mod:`.sources` reads the other programs'
homes and changes nothing there; :mod:`.moving` hands what was read to whoever owns its kind, and
:mod:`.journal` remembers what became of it. Everything is imported when a command runs.
"""

from __future__ import annotations

from hookline_hookspecs import NoConfig, Plugin

__all__ = ["Migrate"]


class Migrate(Plugin[NoConfig]):
    """Its commands are entry points; the plugin switches them on and off."""
