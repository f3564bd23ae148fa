"""List the files that are marked as from outside.

``hookline provenance marks``.
"""

from __future__ import annotations

import json as jsonlib
from typing import TYPE_CHECKING, Annotated

import typer
from hookline_hookspecs.cli import with_plugin

from ..question_text import listed_marks

if TYPE_CHECKING:
    from .. import Provenance


@with_plugin
async def marks(
    plugin: Provenance, json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False
) -> None:
    """List the files that conversations wrote which had read from outside."""
    found = await plugin.writes.listed()
    if json:
        rows = [
            {
                "path": one.path,
                "sources": [origin.source for origin in one.origins],
                "noted": one.noted,
            }
            for one in found
        ]
        typer.echo(jsonlib.dumps(rows, ensure_ascii=False))
        return
    typer.echo(listed_marks(found))
