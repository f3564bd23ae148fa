"""Switch a plugin off and uninstall it. Its data is kept.

``hookline plugins uninstall``.
"""

from __future__ import annotations

from typing import Annotated

import typer
from hookline_hookspecs.cli import command_line

WORKS_WHEN_OFF = True


def uninstall(
    names: Annotated[list[str], typer.Argument(metavar="NAME", help="A plugin or a distribution.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Switch a plugin off and uninstall its package. Its data is kept."""
    from ..command_runner import remove

    remove(command_line().home, names, yes)
