"""Guards of the command line, which are called before every ``hookline`` command.

A guard is a class with an entry point in the group ``hookline.command_guards``. Its module is
imported for every command, so it should import little. If a guard cannot be loaded or raises, the
command is refused.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Protocol


class CommandGuard(Protocol):
    """A guard; the entry point's class is called without arguments."""

    def refusal(self, arguments: Sequence[str]) -> str | None:
        """Why ``hookline ARGUMENTS`` may not run in this process, as a sentence; None if it may."""
        raise NotImplementedError

    def before_runtime(self, config: Path, secrets: Container[str]) -> Mapping[str, str]:
        """Prepare this process for turns, before a runtime is opened.

        Args:
            config: the home's config.yaml.
            secrets: the secret values in config.yaml and ``.env``.

        Returns:
            The variables that were removed from the environment. Plugins still read them in
            ``host.env``.

        Raises:
            CommandError: the command may not open a runtime.
        """
        return {}
