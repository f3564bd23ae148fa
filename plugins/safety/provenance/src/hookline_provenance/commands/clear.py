"""Lift the mark of a file that you have looked at.

``hookline provenance clear``.
"""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.cli import with_plugin

from ..question_text import cleared

if TYPE_CHECKING:
    from .. import Provenance


@with_plugin
async def clear(
    plugin: Provenance, path: Annotated[str, typer.Argument(metavar="PATH", help="A marked file.")]
) -> None:
    """Count a file as the workspace's again, until its content changes."""
    origins = await plugin.writes.clear(Path(path), f"{TERMINAL}:{getpass.getuser()}")
    typer.echo(cleared(path, origins))
