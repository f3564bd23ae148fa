"""Hookline plugin ``commands``: the slash commands that every chat has.

Core's service ``Conversations`` does the work; this plugin has the texts.

- :mod:`.help_texts`: ``/help``.
- :mod:`.missing_commands`: explains commands whose plugin is off.
- :mod:`.models`: completes ``/model``.
- :mod:`.undo`: ``/undo``.
- :mod:`.resume`: ``/resume``.
- :mod:`.export`: ``/export``.
- ``init.md``: the message that ``/init`` sends.
"""

from .plugin import Commands

__all__ = ["Commands"]
