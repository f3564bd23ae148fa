"""Shows what Hookline does: hooks, prompt, plugins, sessions, usage and traces.

``commands`` has the commands, ``slash_commands`` and ``usage`` the slash commands, ``pages`` the
pages. ``recorder`` records turns: all of them if tracing is on, and those of the web page in a
gateway that has it. Otherwise nothing is watched.
"""

from .plugin import Inspect

__all__ = ["Inspect"]
