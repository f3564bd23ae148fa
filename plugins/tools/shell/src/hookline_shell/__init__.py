"""Hookline plugin ``shell``: the tool ``bash`` and its sandbox.

Reached by the entry point ``hookline_shell:Shell``. :mod:`.command_runner` runs a command,
:mod:`.sandbox_runner` in the sandbox, and :mod:`.command_guard` decides beforehand where it runs
and whether it needs approval.
"""

from .config import ShellConfig
from .plugin import Shell

__all__ = ["Shell", "ShellConfig"]
