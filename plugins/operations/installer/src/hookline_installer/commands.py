"""``hookline plugins install [SPEC | -e DIR]`` and ``hookline plugins uninstall NAME …``: the
signatures alone, since every start of the command line reads them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


@dataclass(frozen=True)
class Commands:
    """The commands for one home."""

    home: Path

    def install(
        self,
        spec: Annotated[
            str | None,
            typer.Argument(
                metavar="SPEC", help="A name, name==1.2, a wheel, a folder (./x), or an address."
            ),
        ] = None,
        editable: Annotated[
            str | None,
            typer.Option("--editable", "-e", metavar="DIR", help="A folder, installed in place."),
        ] = None,
        yes: Yes = False,
        replace_hookline: Annotated[
            bool, typer.Option("--replace-hookline", help="Let it replace Hookline itself.")
        ] = False,
    ) -> None:
        """Install a plugin and switch it on; without SPEC, restore what plugins.lock records."""
        from .carrying_out import install_or_restore

        install_or_restore(self.home, spec, editable, yes, replace_hookline)

    def uninstall(
        self,
        names: Annotated[list[str], typer.Argument(metavar="NAME", help="A plugin, or a dist.")],
        yes: Yes = False,
    ) -> None:
        """Switch a plugin off and remove its dist; what it stored stays."""
        from .carrying_out import remove

        remove(self.home, names, yes)
