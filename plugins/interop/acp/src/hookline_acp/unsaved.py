"""What the editor holds of a file and has not saved, so that no tool works past it.

The editor is asked only if it offers its files (``fs/read_text_file``), and only for a path that
``ctx.paths`` lets tools have.
"""

from __future__ import annotations

import asyncio
import difflib
from typing import Any

from acp import RequestError
from hookline_hookspecs import Context, HooklineError, ToolCall
from pydantic import ValidationError

from .sessions import Open

WRITERS = frozenset({"write_file", "edit_file"})
READERS = frozenset({"read_file"})
PATIENCE = 5.0
"""Seconds in which an editor answers; without an answer the disk counts."""
MOST_CHARS = 400_000
"""Characters of a file that is compared."""
LONGEST = 8_000
"""Characters of a difference that a model is told."""


class Unsaved:
    """Compares the disk with what the editor holds.

    Args:
        client: the editor, as the SDK's connection shows it.
        opened: the sessions that it has open.
    """

    def __init__(self, client: Any, opened: Open) -> None:
        self._client, self._open = client, opened
        self.offered = False
        """Whether the editor offers to read its files."""

    async def changes(self, ctx: Context, call: ToolCall) -> str:
        """Return the difference between the disk and the editor, for the file of a call; empty if
        there is none, or the call is of no tool that reads or writes one file."""
        path = call.arguments.get("path")
        session = self._open.shown_in(ctx.session.id)
        known = call.name in WRITERS | READERS and isinstance(path, str)
        if not self.offered or session is None or not known:
            return ""
        try:
            place = ctx.paths.resolve(str(path))
            with ctx.paths.open_read(place) as file:
                saved = file.read(4 * MOST_CHARS).decode("utf-8")
            async with asyncio.timeout(PATIENCE):
                held = await self._client.read_text_file(session_id=session.id, path=str(place))
        except (OSError, ValueError, RequestError, ConnectionError, ValidationError):
            return ""  # there is no such file here or there, or it is no text: the tool says so
        before, after = _lines(saved), _lines(str(getattr(held, "content", saved)))
        if before == after or len(saved) > MOST_CHARS or sum(map(len, after)) > MOST_CHARS:
            return ""
        difference = difflib.unified_diff(
            before, after, "on the disk", "in the editor", lineterm=""
        )
        return "\n".join(difference)

    @staticmethod
    def refusal(call: ToolCall) -> str:
        """Return what the model reads in place of a write that would lose what was typed."""
        return (
            f"Error: {call.arguments.get('path')} has changes in the editor that are not saved. "
            "Nothing was written. Ask the person to save or to discard them, then try again."
        )

    @staticmethod
    async def note(ctx: Context, call: ToolCall, difference: str) -> str:
        """Return what the model is told beside the text of the disk."""
        name = str(call.arguments.get("path"))
        if len(difference) > LONGEST:
            difference = difference[:LONGEST] + "\n[… the rest is left out]"
        try:
            passed = await ctx.read(difference, f"editor {name}")
        except HooklineError:
            passed = ""
        told = f"{name} has changes in the editor that are not saved"
        return f"{told}:\n{passed}" if passed else f"{told}."


def _lines(text: str) -> list[str]:
    """The lines, however they end; editors differ about the last line end."""
    return text.replace("\r\n", "\n").rstrip("\n").split("\n")
