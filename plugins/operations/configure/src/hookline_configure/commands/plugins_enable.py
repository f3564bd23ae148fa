"""Switch plugins on, and install missing ones.

``hookline plugins enable``.
"""

from __future__ import annotations

from typing import Annotated

import typer

from ..switches import enable_plugins, gateway_notice

WORKS_WHEN_OFF = True


def enable(
    names: Annotated[list[str], typer.Argument(help="The plugins to switch on.")],
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Install missing plugins without asking.")
    ] = False,
) -> None:
    """Switch plugins on in config.yaml, with those they require.

    Offers to install missing ones.
    """
    names = list(dict.fromkeys(names))
    enable_plugins(names, install=yes)
    if notice := gateway_notice(names):
        typer.echo(notice)
