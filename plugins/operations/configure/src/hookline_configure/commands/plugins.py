"""Install, enable, disable and inspect plugins.

``hookline plugins``: the group, to which other plugins add commands.
"""

from __future__ import annotations

import typer

WORKS_WHEN_OFF = True
app = typer.Typer(no_args_is_help=True)
