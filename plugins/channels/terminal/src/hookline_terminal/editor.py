"""Edits the draft in ``$VISUAL`` or ``$EDITOR``."""

from __future__ import annotations

import asyncio
import os
import shlex
import tempfile
from collections.abc import Mapping
from pathlib import Path

from hookline_hookspecs.own_programs import own_program

FALLBACKS = ("editor", "nano", "vim", "vi")
"""Programs to try if neither VISUAL nor EDITOR is set."""


class EditorFailed(Exception):
    """The editor could not be run; the text is a sentence for the person."""


def command(env: Mapping[str, str]) -> list[str]:
    """Return the editor's command. Raises :class:`EditorFailed` if there is none."""
    for name in ("VISUAL", "EDITOR"):
        if env.get(name, "").strip():
            try:
                return shlex.split(env[name])
            except ValueError as error:
                raise EditorFailed(f"{name} is not a command ({error}): {env[name]}") from None
    for name in FALLBACKS:
        if program := own_program(name):
            return [program]
    raise EditorFailed("No editor found. Set EDITOR to the one you use, such as EDITOR=nano.")


async def edit(text: str, folder: Path, env: Mapping[str, str] = os.environ) -> str:
    """Open the editor and return the new text, without the newline that editors add.

    Raises:
        EditorFailed: it could not be started or exited with an error.
    """
    argv = command(env)
    handle, name = tempfile.mkstemp(".md", "draft-", folder)
    file = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape") as stream:
            stream.write(f"{text}\n" if text else "")
        try:
            process = await asyncio.create_subprocess_exec(*argv, name)
        except OSError as error:
            raise EditorFailed(f"{argv[0]} could not be started: {error.strerror}.") from None
        if await process.wait() != 0:
            raise EditorFailed(f"{argv[0]} failed; the draft is unchanged.")
        edited = await asyncio.to_thread(file.read_text, "utf-8", "replace")
        return edited.removesuffix("\n")
    finally:
        file.unlink(missing_ok=True)  # noqa: ASYNC240 - takes no time
