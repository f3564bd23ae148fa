"""Hookline plugin ``run``: the command ``hookline run`` runs one turn and prints the answer.

Reached by the entry point ``hookline_run:Run``. :mod:`.command` is the command with its options,
:mod:`.turn` runs the turn, :mod:`.output` prints it, :mod:`.rendered_output` does so on a terminal,
:mod:`.stdin` reads piped input, and :mod:`.images` the files of ``--image``.
"""

from __future__ import annotations

from hookline_hookspecs import NoConfig, Plugin

__all__ = ["Run"]


class Run(Plugin[NoConfig]):
    """Switches the command on and off; the command itself is an entry point."""
