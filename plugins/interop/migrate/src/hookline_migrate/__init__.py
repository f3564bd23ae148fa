"""Hookline plugin ``migrate``: ``hookline migrate plan|apply|undo SOURCE``.

Reached by the entry point ``hookline_migrate:Migrate``. :mod:`.sources` reads the other programs'
homes without changing them; :mod:`.migration` passes each item to the importer of its kind, and
:mod:`.journal` records the outcomes. All modules are imported when a command runs.
"""

from __future__ import annotations

from hookline_hookspecs import NoConfig, Plugin

__all__ = ["Migrate"]


class Migrate(Plugin[NoConfig]):
    """Switches the commands on and off; they are entry points of their own."""
