"""Show and fill the semantic search index.

``hookline semantic``.
"""

from __future__ import annotations

import json as jsonlib
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
from hookline_hookspecs.cli import with_plugin

from .embedders import called
from .filling import MESSAGES
from .kept import COHORT, HEAD

if TYPE_CHECKING:
    from .plugin import Semantic


Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

app = typer.Typer(no_args_is_help=True)


@app.command("status")
@with_plugin
async def status(plugin: Semantic, json: Json = False) -> None:
    """Show how many texts have a vector, by corpus, and which model makes them."""
    parts = plugin.parts()
    storage = plugin.host.storage
    rows = await storage.fetch("counts")
    left = await storage.fetch("messages_left", model=parts.kept.model)
    found: list[dict[str, Any]] = [
        {
            "corpus": row["corpus"],
            "model": row["model"],
            "texts": row["texts"],
            "dimensions": max(0, (row["bytes"] or 0) - HEAD),
        }
        for row in rows
        if row["corpus"] != COHORT
    ]
    waiting = left[0]["texts"] if parts.filling.takes(MESSAGES) else 0
    if json:
        sys.stdout.write(
            jsonlib.dumps({"model": parts.kept.model, "corpora": found, "messages_left": waiting})
            + "\n"
        )
        return
    sys.stdout.write(f"Vectors are made by {called(parts.kept.model)}.\n")
    for row in found:
        old = (
            ""
            if row["model"] == parts.kept.model
            else f" (made by {called(row['model'])}; will be redone)"
        )
        size = f"{row['dimensions']} dimensions"
        sys.stdout.write(f"{row['corpus']}: {_counted(row['texts'], 'text')}, {size}{old}\n")
    if waiting:
        have = "has" if waiting == 1 else "have"
        sys.stdout.write(
            f"{_counted(waiting, 'message')} {have} no vector yet. Run `hookline semantic fill`.\n"
        )


@app.command("fill")
@with_plugin
async def fill(plugin: Semantic) -> None:
    """Embed texts that have no vector yet, within the daily budget."""
    parts = plugin.parts()
    done = await parts.filling.round(everything=True, anew=True)
    if done.erased:
        sys.stdout.write(
            f"{called(parts.kept.model)} {done.erased}; every text is embedded again.\n"
        )
    for corpus, texts in sorted(done.texts.items()):
        sys.stdout.write(f"{corpus}: {_counted(texts, 'text')}\n")
    if not done.texts and not done.stopped:
        sys.stdout.write("Everything has a vector.\n")
    if done.stopped:
        sys.stderr.write(f"hookline: stopped: {done.stopped.rstrip('.')}.\n")
        raise typer.Exit(1)


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
