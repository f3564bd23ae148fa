"""Files that come with a message: saved whole, under safe names, before the message is stored."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterable
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO
from urllib.parse import quote

from hookline_hookspecs import Attachment, Audio, HooklineError, Host
from hookline_hookspecs.speech import audio_kind

from .kinds import HEAD, kind_of, suffix_of

BUFFER = 1 << 18
"""Bytes that are written at once."""
LONGEST_NAME = 80
"""Characters of a sender's file name that are kept."""
_UNSAFE = re.compile(r"[^\w.\- ()\[\]]+")
_OURS = re.compile(r"[0-9a-f]{16}(?:[-.].*)?")


class TooLarge(HooklineError):
    """A file has more bytes than are taken; the text says how many."""


class Media:
    """The folder ``media/CHANNEL`` in Hookline's home (files 0600, folder 0700), percent-encoded.

    Args:
        host: the plugin's host.
        channel: the channel's name.
        limit: bytes of the largest file that is taken.
    """

    def __init__(self, host: Host, channel: str, limit: int = 20_000_000) -> None:
        self._media, self._name = host.home / "media", quote(channel, safe="")
        self.limit = limit

    @property
    def folder(self) -> Path:
        """The folder, resolved: machines with homes in different places may share it."""
        return self._media.resolve() / self._name

    async def attachment(self, data: bytes | AsyncIterable[bytes], name: str) -> Attachment:
        """Save a file; its type is judged by content. ``name`` is the sender's. Raises
        :class:`TooLarge` or ``OSError``; nothing is left behind then."""
        shown = safe_name(name)
        path, head, size = await self._save(data, shown)
        mime = kind_of(head)
        return Attachment(path, mime, shown or f"file{suffix_of(mime)}", size)

    async def audio(
        self, data: bytes | AsyncIterable[bytes], duration: float = 0.0
    ) -> Audio | Attachment:
        """Save a voice message; an :class:`Attachment` if the content is no sound."""
        path, head, size = await self._save(data, "")
        sound = audio_kind(head)
        if sound is None:
            mime = kind_of(head)
            return Attachment(path, mime, f"file{suffix_of(mime)}", size)
        named = path.with_name(path.name + sound.suffix)
        await asyncio.to_thread(path.rename, named)
        return Audio(named, sound.mime, max(0.0, duration))

    async def prune(self, before: float) -> int:
        """Delete files older than the Unix time ``before``; how many."""
        return await asyncio.to_thread(_prune, self.folder, before)

    async def _save(self, data: bytes | AsyncIterable[bytes], name: str) -> tuple[Path, bytes, int]:
        """Write a new file to the disk for good; its path, beginning and size."""
        path = self.folder / f"{token_hex(8)}{f'-{name}' if name else ''}"
        file = await asyncio.to_thread(_create, path)
        try:
            head, size = await self._fill(file, data, name or "the file")
            await asyncio.to_thread(_finish, file)
        except BaseException:
            file.close()
            path.unlink(missing_ok=True)
            raise
        return path, head, size

    async def _fill(
        self, file: BinaryIO, data: bytes | AsyncIterable[bytes], name: str
    ) -> tuple[bytes, int]:
        head, size, waiting = b"", 0, bytearray()
        chunks = _one(data) if isinstance(data, bytes) else data
        async for chunk in chunks:
            size += len(chunk)
            if size > self.limit:
                raise TooLarge(
                    f"{name} is larger than {self.limit:,} bytes, which is the most that is taken."
                )
            head = head if len(head) >= HEAD else (head + chunk)[:HEAD]
            waiting += chunk
            if len(waiting) >= BUFFER:
                await asyncio.to_thread(file.write, bytes(waiting))
                waiting.clear()
        await asyncio.to_thread(file.write, bytes(waiting))
        return head, size


def safe_name(name: str) -> str:
    """A sender's file name without folders, control characters and the like; may be empty."""
    last = re.split(r"[/\\]", name)[-1]
    clean = _UNSAFE.sub("_", last).strip(" ._")
    stem, dot, suffix = clean.rpartition(".")
    if not dot or len(suffix) > 10:
        stem, dot, suffix = clean, "", ""
    kept = (stem[: LONGEST_NAME - len(suffix)] + dot + suffix).encode("utf-8", "ignore")
    while len(kept) > 200:  # a name has 255 bytes at most on Linux
        stem = stem[:-8]
        kept = (stem + dot + suffix).encode("utf-8", "ignore")
    return kept.decode("utf-8")


async def _one(data: bytes) -> AsyncIterable[bytes]:
    yield data


def _create(path: Path) -> BinaryIO:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    return os.fdopen(os.open(path, flags, 0o600), "wb")


def _finish(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
    file.close()


def _prune(folder: Path, before: float) -> int:
    gone = 0
    for path in folder.iterdir() if folder.is_dir() else ():
        if _OURS.fullmatch(path.name) and path.lstat().st_mtime < before and not path.is_dir():
            path.unlink(missing_ok=True)
            gone += 1
    return gone
