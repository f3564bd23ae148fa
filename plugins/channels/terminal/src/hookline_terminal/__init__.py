"""Hookline plugin ``terminal``: ``hookline chat``, approvals by key, and ``hookline init``.

Reached by the entry point ``hookline_terminal:Terminal``. :mod:`.channel` is the channel; it uses
:mod:`.interactive_chat` on a terminal and :mod:`.piped_chat` in a pipe. :mod:`.chat` is the command
``hookline chat``, :mod:`.setup` is ``hookline init``. In the interactive chat :mod:`.input_line`
reads, :mod:`.keys` binds its keys, :mod:`.transcript` writes above it, and :mod:`.status_line` is
below it.
"""

from .config import TerminalConfig
from .plugin import Terminal

__all__ = ["Terminal", "TerminalConfig"]
