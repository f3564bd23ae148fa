"""Calls the installed command guards (:mod:`hookline_hookspecs.command_guards`)."""

from __future__ import annotations

from collections.abc import Container, Sequence
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

from hookline_hookspecs import CommandError
from hookline_hookspecs.command_guards import CommandGuard

from hookline.bus.implementation import describe
from hookline.home import removed

GROUP = "hookline.command_guards"


def check_command(arguments: Sequence[str]) -> None:
    """Raise ``CommandError`` if a guard refuses ``hookline ARGUMENTS`` or fails."""
    for name, guard in _guards().items():
        try:
            reason = guard.refusal(arguments)
        except Exception as error:
            raise _failed(name, error) from error
        if reason:
            raise CommandError(reason)


def prepare_process(config: Path, secrets: Container[str]) -> None:
    """Have every guard prepare this process for turns.

    Raises ``CommandError`` if one refuses or fails.
    """
    for name, guard in _guards().items():
        try:
            removed.update(guard.before_runtime(config, secrets))
        except Exception as error:
            raise _failed(name, error) from error


def _failed(name: str, error: Exception) -> CommandError:
    return CommandError(f"Denied: command guard {name!r} failed: {describe(error)}")


@cache
def _guards() -> dict[str, CommandGuard]:
    """The installed guards by name; cached, because finding them reads every package's metadata."""
    guards: dict[str, CommandGuard] = {}
    for point in entry_points(group=GROUP):
        try:
            guards[point.name] = point.load()()
        except Exception as error:
            raise CommandError(
                f"Denied: command guard {point.name!r} cannot be imported: {describe(error)}. "
                f"Reinstall {point.dist.name if point.dist else 'its package'}."
            ) from error
    return guards
