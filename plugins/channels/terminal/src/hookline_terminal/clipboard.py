"""The clipboard, read by whatever program this machine has for it."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

SECONDS = 5.0
"""For each program."""
KEPT_SECONDS = 86_400.0
"""For which a pasted picture stays; it is part of the conversation once its turn has begun."""
LARGEST = 20_000_000
"""Bytes that are read."""
MISSING = (
    "The clipboard cannot be read here: install wl-clipboard (Wayland), xclip (X11) or pngpaste "
    "(macOS), or drag the file into the window."
)
EMPTY = "The clipboard holds neither a picture nor text."


@dataclass(frozen=True, slots=True)
class Clipping:
    """What the clipboard holds; ``missing`` if no program can tell."""

    picture: bytes = b""
    text: str = ""
    missing: bool = False


async def read_clipboard(env: Mapping[str, str] = os.environ) -> Clipping:
    """Read a picture from the clipboard, else text."""
    programs = list(_programs(env))
    if not programs:
        return Clipping(missing=True)
    for for_picture, for_text in programs:
        if data := await _output(for_picture):
            return Clipping(picture=data)
        if data := await _output(for_text):
            return Clipping(text=data.decode("utf-8", "replace"))
    return Clipping()


def _programs(env: Mapping[str, str]) -> Iterator[tuple[list[str], list[str]]]:
    """The commands for a picture and for text, of the programs that are there."""
    if env.get("WAYLAND_DISPLAY") and shutil.which("wl-paste"):
        yield ["wl-paste", "--type", "image/png"], ["wl-paste", "--no-newline", "--type", "text"]
    if env.get("DISPLAY") and shutil.which("xclip"):
        clipboard = ["xclip", "-selection", "clipboard"]
        yield [*clipboard, "-t", "image/png", "-o"], [*clipboard, "-o"]
    if sys.platform == "darwin" and shutil.which("pngpaste"):
        yield ["pngpaste", "-"], ["pbpaste"]


def stored(folder: Path, data: bytes, kind: str) -> Path:
    """A file of its own with ``data``, that only the person can read."""
    folder.mkdir(mode=0o700, exist_ok=True)
    file = folder / f"{uuid.uuid4().hex}.{kind}"
    file.touch(mode=0o600)
    file.write_bytes(data)
    return file


def forget_old(folder: Path) -> None:
    """Remove the pictures that earlier chats have sent."""
    with suppress(OSError):
        for file in folder.iterdir():
            if file.stat().st_mtime < time.time() - KEPT_SECONDS:
                file.unlink(missing_ok=True)


async def _output(argv: list[str]) -> bytes:
    """What a program prints if it succeeds, else nothing."""
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
        async with asyncio.timeout(SECONDS):
            assert process.stdout is not None
            data = await process.stdout.read(LARGEST + 1)
            while (more := await process.stdout.read(65_536)) and len(data) <= LARGEST:
                data += more
            code = await process.wait()
    except TimeoutError:
        code, data = 1, b""
    finally:
        with suppress(ProcessLookupError):
            process.kill()
    return data if code == 0 and len(data) <= LARGEST else b""
