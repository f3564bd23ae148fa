"""Guards of the command line, which are asked before every ``hookline`` command.

A guard is a class that an entry point of the group ``hookline.command_guards`` names. Its module is
imported at every command, so it imports little. A guard that cannot be loaded, or that raises,
refuses the command.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Protocol


class CommandGuard(Protocol):
    """What the entry point makes, without arguments."""

    def refusal(self, arguments: Sequence[str]) -> str | None:
        """Why ``hookline ARGUMENTS`` may not run in this process, as a sentence; None if it may."""
        raise NotImplementedError

    def before_runtime(self, config: Path, secrets: Container[str]) -> Mapping[str, str]:
        """Prepare this process for turns, before a runtime is opened.

        Args:
            config: the home's config.yaml.
            secrets: the values that config.yaml and ``.env`` hold as secrets.

        Returns:
            The variables that were removed from the environment. Plugins still read them in
            ``host.env``.

        Raises:
            CommandError: the command may not open a runtime.
        """
        return {}
