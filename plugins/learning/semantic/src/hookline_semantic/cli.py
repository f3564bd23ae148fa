"""``hookline semantic status|fill``. Imported only when the command line is built."""

from __future__ import annotations

import json as jsonlib
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer
from hookline_hookspecs import Host

from .embedders import called
from .filling import MESSAGES
from .kept import COHORT, HEAD
from .parts import Parts

Json = Annotated[bool, typer.Option("--json", help="JSON.")]


class Commands:
    """One method for each command, called by its name."""

    def __init__(self, host: Host, made: Callable[[], Parts]) -> None:
        self._host = host
        self._made = made

    async def status(self, json: Json = False) -> None:
        """What has a vector, by corpus, and who makes them."""
        parts = self._made()
        storage = self._host.storage
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
                jsonlib.dumps(
                    {"model": parts.kept.model, "corpora": found, "messages_left": waiting}
                )
                + "\n"
            )
            return
        sys.stdout.write(f"Vectors are made by {called(parts.kept.model)}.\n")
        for row in found:
            old = (
                ""
                if row["model"] == parts.kept.model
                else f" (of {called(row['model'])}, to be redone)"
            )
            size = f"{row['dimensions']} dimensions"
            sys.stdout.write(f"{row['corpus']}: {_counted(row['texts'], 'text')}, {size}{old}\n")
        if waiting:
            have = "has" if waiting == 1 else "have"
            sys.stdout.write(
                f"{_counted(waiting, 'message')} {have} none yet; run: hookline semantic fill\n"
            )

    async def fill(self) -> None:
        """Embed now what has no vector yet, as far as the day's budget goes."""
        parts = self._made()
        done = await parts.filling.round(everything=True, anew=True)
        if done.erased:
            sys.stdout.write(
                f"{called(parts.kept.model)} {done.erased}; every text is embedded anew.\n"
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
