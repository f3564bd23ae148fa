"""``hookline init``. Imported when the command line is built, because of Typer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer
from hookline_hookspecs import Host

NO_INPUT = "Ask nothing; only write the files that are not there."


def init_on(host: Host) -> Callable[..., None]:
    """The command; ``host`` is of the plugin before it is set up."""

    def init(no_input: Annotated[bool, typer.Option("--no-input", help=NO_INPUT)] = False) -> None:
        """Set up: model, key, channels; shows what is set, and changes what you answer."""
        from .setup import initialise

        initialise(host, ask=not no_input)

    return init
