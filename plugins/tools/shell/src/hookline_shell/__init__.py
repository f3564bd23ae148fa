"""Hookline plugin ``shell``: the tool ``bash``, its sandbox and its judge.

Reached by the entry point ``hookline_shell:Shell``. :mod:`.command_runner` runs a command,
:mod:`.sandbox_runner` decides whether it is sandboxed, :mod:`.judge` decides beforehand whether it
needs approval or is denied.
"""

from .config import ShellConfig
from .plugin import Shell

__all__ = ["Shell", "ShellConfig"]
