"""The draft in the person's own editor."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

FALLBACKS = ("editor", "nano", "vim", "vi")
"""Programs that are tried where neither VISUAL nor EDITOR says one."""


class NoEditor(Exception):
    """The editor could not be run; the text is a sentence for the person."""


def command(env: Mapping[str, str]) -> list[str]:
    """The editor's command. Raises :class:`NoEditor`."""
    for name in ("VISUAL", "EDITOR"):
        if env.get(name, "").strip():
            try:
                return shlex.split(env[name])
            except ValueError as error:
                raise NoEditor(f"{name} is no command ({error}): {env[name]}") from None
    for name in FALLBACKS:
        if shutil.which(name):
            return [name]
    raise NoEditor("No editor was found; set EDITOR to the one you use, such as EDITOR=nano.")


async def edit(text: str, folder: Path, env: Mapping[str, str] = os.environ) -> str:
    """Let the person edit ``text``; the new text, without the newline that editors add.

    Raises:
        NoEditor: it cannot be started or ended with an error; the text stays as it was.
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
            raise NoEditor(f"{argv[0]} could not be started: {error.strerror}.") from None
        if await process.wait() != 0:
            raise NoEditor(f"{argv[0]} ended with an error; the draft is as it was.")
        edited = await asyncio.to_thread(file.read_text, "utf-8", "replace")
        return edited.removesuffix("\n")
    finally:
        file.unlink(missing_ok=True)  # noqa: ASYNC240 - at once
