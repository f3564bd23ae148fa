"""Names the values of arguments and options in the help: FILE, N or KEY, never a Python type.

Typer shows ``--out <path>`` and ``{KEY} <str>`` and lets no application choose other parameter
classes, so the class of each built parameter is exchanged.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

from typer.core import TyperArgument, TyperOption

_NAMES = {int: "N", float: "NUMBER", Path: "FILE"}


class NamedArgument(TyperArgument):
    """An argument that the help shows as ``KEY``, ``[KEY]`` or ``KEY…``."""

    @property
    def display_name_raw(self) -> str:
        """The name: that of its ``metavar``, else its own in capitals."""
        return (self.metavar or self.name.upper()).strip("[]")

    def _rich_display_name(self) -> str:
        name = self.display_name_raw
        return name if self.nargs == 1 or name.endswith("…") else f"{name}…"

    def _usage_display_name(self) -> str:
        name = self._rich_display_name()
        return name if self.required else f"[{name}]"

    def display_type_rich(self, ctx: Any) -> str | None:
        """No type."""
        return None

    def _get_number_range_help_str(self) -> str | None:
        return None


class NamedOption(TyperOption):
    """An option whose value the help shows as ``FILE``, ``N``, ``a|b`` or by the option's name."""

    def display_type_rich(self, ctx: Any) -> str | None:
        """The name of the value."""
        if self.metavar is not None:
            return self.metavar
        described = self.type_descriptor
        if described.is_choice:
            return self.display_type(ctx).strip("<>")
        kind = described.annotation
        kind = next(iter(get_args(kind)), kind)
        return _NAMES.get(kind, self.opts[-1].lstrip("-").rpartition("-")[2].upper())

    def _get_number_range_help_str(self) -> str | None:
        return None


def name_values(command: Any) -> None:
    """Name the values of a Click command's parameters, and of the commands below it."""
    for parameter in command.params:
        if type(parameter) is TyperArgument:
            parameter.__class__ = NamedArgument
        elif type(parameter) is TyperOption:
            parameter.__class__ = NamedOption
    for inner in getattr(command, "commands", {}).values():
        name_values(inner)
