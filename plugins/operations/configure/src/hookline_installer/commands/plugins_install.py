"""Install a plugin and switch it on, or restore missing ones.

``hookline plugins install``.
"""

from __future__ import annotations

from typing import Annotated

import typer
from hookline_hookspecs.cli import command_line

WORKS_WHEN_OFF = True


def install(
    spec: Annotated[
        str | None,
        typer.Argument(metavar="SPEC", help="A name, name==1.2, a wheel, a folder (./x) or a URL."),
    ] = None,
    editable: Annotated[
        str | None,
        typer.Option("--editable", "-e", metavar="DIR", help="Install this folder in place."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    replace_hookline: Annotated[
        bool, typer.Option("--replace-hookline", help="Allow it to replace Hookline itself.")
    ] = False,
) -> None:
    """Install a plugin and switch it on.

    Without SPEC, reinstall what plugins.lock lists.
    """
    from ..command_runner import install_or_restore

    install_or_restore(command_line().home, spec, editable, yes, replace_hookline)
