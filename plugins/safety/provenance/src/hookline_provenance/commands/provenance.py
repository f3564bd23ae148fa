"""Show and lift the marks of files from outside.

``hookline provenance``: the group.
"""

from __future__ import annotations

import typer

app = typer.Typer(no_args_is_help=True)
