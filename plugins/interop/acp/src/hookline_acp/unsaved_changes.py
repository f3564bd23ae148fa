"""Compares files on disk with the editor's unsaved text, so that no tool overwrites it.

The editor is asked only if it offers ``fs/read_text_file``, and only for paths that ``ctx.paths``
allows.
"""

from __future__ import annotations

import asyncio
import difflib
from typing import Any

from acp import RequestError
from hookline_hookspecs import Context, HooklineError, ToolCall
from pydantic import ValidationError

from .sessions import OpenSessions

WRITERS = frozenset({"write_file", "edit_file"})
READERS = frozenset({"read_file"})
READ_TIMEOUT = 5.0
"""Seconds to wait for the editor's answer; without one, the file on disk is used."""
MAX_COMPARED_CHARS = 400_000
"""Characters of a file; larger files are not compared."""
MAX_NOTE_CHARS = 8_000
"""Characters of a diff shown to the model."""


class UnsavedChanges:
    """Compares files on disk with the editor's text.

    Args:
        client: the SDK's connection to the editor.
        sessions: the open sessions.
    """

    def __init__(self, client: Any, sessions: OpenSessions) -> None:
        self._client = client
        self._sessions = sessions
        self.offered = False
        """True if the editor offers ``fs/read_text_file``."""

    async def changes(self, ctx: Context, call: ToolCall) -> str:
        """Return the diff between disk and editor for the file of a call.

        It is empty without a difference, and for tools that do not read or write one file.
        """
        path = call.arguments.get("path")
        session = self._sessions.find(ctx.session.id)
        known = call.name in WRITERS | READERS and isinstance(path, str)
        if not self.offered or session is None or not known:
            return ""
        try:
            place = ctx.paths.resolve(str(path))
            with ctx.paths.open_read(place) as file:
                saved = file.read(4 * MAX_COMPARED_CHARS).decode("utf-8")
            async with asyncio.timeout(READ_TIMEOUT):
                response = await self._client.read_text_file(session_id=session.id, path=str(place))
        except (OSError, ValueError, RequestError, ConnectionError, ValidationError):
            return ""  # missing or not text: the tool reports that
        before = _lines(saved)
        after = _lines(str(getattr(response, "content", saved)))
        if (
            before == after
            or len(saved) > MAX_COMPARED_CHARS
            or sum(map(len, after)) > MAX_COMPARED_CHARS
        ):
            return ""
        difference = difflib.unified_diff(before, after, "on disk", "in the editor", lineterm="")
        return "\n".join(difference)

    @staticmethod
    def refusal(call: ToolCall) -> str:
        """Return the result of a write that would lose unsaved text."""
        return (
            f"Error: {call.arguments.get('path')} has unsaved changes in the editor. Nothing was "
            "written. Ask the person to save or discard them, then try again."
        )

    @staticmethod
    async def note(ctx: Context, call: ToolCall, difference: str) -> str:
        """Return a note with the unsaved changes for the result of a read."""
        name = str(call.arguments.get("path"))
        if len(difference) > MAX_NOTE_CHARS:
            difference = difference[:MAX_NOTE_CHARS] + "\n[… rest left out]"
        try:
            passed = await ctx.read(difference, f"editor {name}")
        except HooklineError:
            passed = ""
        text = f"{name} has unsaved changes in the editor"
        return f"{text}:\n{passed}" if passed else f"{text}."


def _lines(text: str) -> list[str]:
    """Split into lines, ignoring kinds of line ends and trailing ones."""
    return text.replace("\r\n", "\n").rstrip("\n").split("\n")
