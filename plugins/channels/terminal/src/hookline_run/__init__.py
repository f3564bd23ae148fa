"""Hookline plugin ``run``: ``hookline run`` runs one turn and prints the answer.

Reached by the entry point ``hookline_run:Run``. :mod:`.command` is the command with its options,
:mod:`.turn` the turn and Ctrl-C, :mod:`.output` what is shown of it, :mod:`.screen` the same on a
terminal, :mod:`.stdin` what comes through a pipe, and :mod:`.pictures` what ``--image`` takes.
"""

from __future__ import annotations

from hookline_hookspecs import NoConfig, Plugin

__all__ = ["Run"]


class Run(Plugin[NoConfig]):
    """Its command is an entry point; the plugin switches it on and off."""
