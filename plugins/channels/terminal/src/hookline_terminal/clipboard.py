"""Reads the clipboard with a program of this machine."""

from __future__ import annotations

import asyncio
import os
import sys
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hookline_hookspecs.own_programs import own_program

PROGRAM_TIMEOUT = 5.0
"""Seconds for each program."""
PASTED_FILE_SECONDS = 86_400.0
"""Age at which a pasted picture is removed. The conversation has its own copy by then."""
MAX_CLIPBOARD_BYTES = 20_000_000
NO_PROGRAM = (
    "The clipboard cannot be read here: install wl-clipboard (Wayland), xclip (X11) or pngpaste "
    "(macOS), or drag the file into the window."
)
EMPTY_CLIPBOARD = "The clipboard holds neither a picture nor text."


@dataclass(frozen=True, slots=True)
class ClipboardContent:
    """What the clipboard holds; ``missing`` if no program can read it."""

    picture: bytes = b""
    text: str = ""
    missing: bool = False


async def read_clipboard(env: Mapping[str, str] = os.environ) -> ClipboardContent:
    """Read a picture from the clipboard, else text."""
    programs = list(_programs(env))
    if not programs:
        return ClipboardContent(missing=True)
    for for_picture, for_text in programs:
        if data := await _output(for_picture):
            return ClipboardContent(picture=data)
        if data := await _output(for_text):
            return ClipboardContent(text=data.decode("utf-8", "replace"))
    return ClipboardContent()


def _programs(env: Mapping[str, str]) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the commands that read a picture and text, for each installed program."""
    if env.get("WAYLAND_DISPLAY") and (paste := own_program("wl-paste")):
        yield [paste, "--type", "image/png"], [paste, "--no-newline", "--type", "text"]
    if env.get("DISPLAY") and (xclip := own_program("xclip")):
        clipboard = [xclip, "-selection", "clipboard"]
        yield [*clipboard, "-t", "image/png", "-o"], [*clipboard, "-o"]
    if sys.platform == "darwin" and (paste := own_program("pngpaste")):
        yield [paste, "-"], ["/usr/bin/pbpaste"]


def store_picture(folder: Path, data: bytes, kind: str) -> Path:
    """Write ``data`` to a new file with mode 0600."""
    folder.mkdir(mode=0o700, exist_ok=True)
    file = folder / f"{uuid.uuid4().hex}.{kind}"
    file.touch(mode=0o600)
    file.write_bytes(data)
    return file


def remove_old_pictures(folder: Path) -> None:
    """Remove pictures that earlier chats have sent."""
    with suppress(OSError):
        for file in folder.iterdir():
            if file.stat().st_mtime < time.time() - PASTED_FILE_SECONDS:
                file.unlink(missing_ok=True)


async def _output(argv: list[str]) -> bytes:
    """Return what a program prints; empty if it fails."""
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError:
        return b""
    try:
        async with asyncio.timeout(PROGRAM_TIMEOUT):
            assert process.stdout is not None
            data = await process.stdout.read(MAX_CLIPBOARD_BYTES + 1)
            while (more := await process.stdout.read(65_536)) and len(data) <= MAX_CLIPBOARD_BYTES:
                data += more
            code = await process.wait()
    except TimeoutError:
        code, data = 1, b""
    finally:
        with suppress(ProcessLookupError):
            process.kill()
    return data if code == 0 and len(data) <= MAX_CLIPBOARD_BYTES else b""
