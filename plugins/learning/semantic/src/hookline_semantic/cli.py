"""Inspect and fill the semantic search index.

``hookline semantic``.
"""

from __future__ import annotations

import json as jsonlib
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
from hookline_hookspecs.cli import with_plugin

from .embedders import describe_embedder
from .indexer import MESSAGES
from .vector_store import COHORT, HEADER_BYTES

if TYPE_CHECKING:
    from .plugin import Semantic


Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

app = typer.Typer(no_args_is_help=True)


@app.command("status")
@with_plugin
async def status(plugin: Semantic, json: Json = False) -> None:
    """Show how many texts are indexed, by corpus, and the model used."""
    parts = plugin.parts()
    storage = plugin.host.storage
    rows = await storage.fetch("counts")
    left = await storage.fetch("messages_left", model=parts.store.model)
    found: list[dict[str, Any]] = [
        {
            "corpus": row["corpus"],
            "model": row["model"],
            "texts": row["texts"],
            "dimensions": max(0, (row["bytes"] or 0) - HEADER_BYTES),
        }
        for row in rows
        if row["corpus"] != COHORT
    ]
    waiting = left[0]["texts"] if parts.indexer.includes(MESSAGES) else 0
    if json:
        sys.stdout.write(
            jsonlib.dumps({"model": parts.store.model, "corpora": found, "messages_left": waiting})
            + "\n"
        )
        return
    sys.stdout.write(f"Vectors are made by {describe_embedder(parts.store.model)}.\n")
    for row in found:
        old = (
            ""
            if row["model"] == parts.store.model
            else f" (made by {describe_embedder(row['model'])}; will be redone)"
        )
        size = f"{row['dimensions']} dimensions"
        sys.stdout.write(f"{row['corpus']}: {_count_of(row['texts'], 'text')}, {size}{old}\n")
    if waiting:
        have = "has" if waiting == 1 else "have"
        sys.stdout.write(
            f"{_count_of(waiting, 'message')} {have} no vector yet. Run `hookline semantic fill`.\n"
        )


@app.command("fill")
@with_plugin
async def fill(plugin: Semantic) -> None:
    """Index the texts that are missing, within the daily budget."""
    parts = plugin.parts()
    done = await parts.indexer.run(everything=True, check_model=True)
    if done.erased:
        sys.stdout.write(
            f"{describe_embedder(parts.store.model)} {done.erased}; embedding all texts again.\n"
        )
    for corpus, texts in sorted(done.texts.items()):
        sys.stdout.write(f"{corpus}: {_count_of(texts, 'text')}\n")
    if not done.texts and not done.stopped:
        sys.stdout.write("Everything has a vector.\n")
    if done.stopped:
        sys.stderr.write(f"hookline: stopped: {done.stopped.rstrip('.')}.\n")
        raise typer.Exit(1)


def _count_of(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
