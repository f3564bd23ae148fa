"""Downloads the files of messages if the sender may write, and saves them under safe names."""

from __future__ import annotations

import asyncio
import os
import re
from collections import OrderedDict
from collections.abc import AsyncIterable, Sequence
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO
from urllib.parse import quote

from hookline_hookspecs import Access, Attachment, Audio, HooklineError, Host, Inbound, Origin
from hookline_hookspecs.file_origins import received_file_origins
from hookline_hookspecs.speech import audio_kind

from .client import PlatformClient
from .errors import ChatGone, PermissionDenied
from .events import RemoteFile
from .files import SNIFF_BYTES, sniff_mime, suffix_of
from .problems import PermissionProblems

WRITE_BUFFER_BYTES = 1 << 18
MAX_NAME_CHARS = 80
"""Maximum characters of a sender's file name that are kept."""
MAX_NAME_BYTES = 200
"""A file name has at most 255 bytes on Linux, and the stored one has a prefix."""
MAX_ATTEMPTS = 3
"""Maximum attempts to download a file."""
RETRY_PAUSE = 1.0
"""Seconds to wait after the first attempt, twice as long after the second."""
DOWNLOAD_TIMEOUT = 120.0
"""Seconds for one attempt."""
MAX_PENDING_NOTICES = 256
"""Maximum messages with a pending notice about a file that was not accepted."""
_UNSAFE = re.compile(r"[^\w.\- ()\[\]]+")
_SAVED_NAME = re.compile(r"[0-9a-f]{16}(?:[-.].*)?")


class FileTooLarge(HooklineError):
    """A file exceeds the size limit; the text says by how much."""


class MediaStore:
    """The folder ``media/CHANNEL`` in Hookline's home (files 0600, folder 0700), percent-encoded.

    Args:
        host: the plugin's host.
        channel: the name of the channel.
        max_bytes: maximum size of a received file.
    """

    def __init__(self, host: Host, channel: str, max_bytes: int = 20_000_000) -> None:
        self._media, self._name = host.home / "media", quote(channel, safe="")
        self.max_bytes = max_bytes

    @property
    def folder(self) -> Path:
        """The folder, resolved: machines with homes at different paths may share it."""
        return self._media.resolve() / self._name

    async def save_attachment(
        self, data: bytes | AsyncIterable[bytes], name: str, *, origins: tuple[Origin, ...] = ()
    ) -> Attachment:
        """Save a file; its type is determined by its content, and ``name`` is the sender's.

        Without ``origins`` it is from outside.
        Raises :class:`FileTooLarge` or ``OSError``, and then leaves no file.
        """
        shown = safe_name(name)
        path, head, size = await self._save(data, shown)
        mime = sniff_mime(head)
        name = shown or f"file{suffix_of(mime)}"
        return Attachment(path, mime, name, size, origins=origins or received_file_origins(name))

    async def save_audio(
        self,
        data: bytes | AsyncIterable[bytes],
        duration: float = 0.0,
        *,
        is_recording: bool = False,
    ) -> Audio | Attachment:
        """Save a sound; an :class:`Attachment` if the content is not audio.

        A recording that the sender made for this message is their own words; other sounds are from
        outside.
        """
        path, head, size = await self._save(data, "")
        sound = audio_kind(head)
        if sound is None:
            mime = sniff_mime(head)
            name = f"file{suffix_of(mime)}"
            return Attachment(path, mime, name, size, origins=received_file_origins(name))
        named = path.with_name(path.name + sound.suffix)
        await asyncio.to_thread(path.rename, named)
        origins = () if is_recording else received_file_origins(f"sound{sound.suffix}")
        return Audio(named, sound.mime, max(0.0, duration), origins=origins)

    async def prune(self, before: float) -> int:
        """Delete files older than the Unix time ``before``; returns how many."""
        return await asyncio.to_thread(_prune, self.folder, before)

    async def _save(self, data: bytes | AsyncIterable[bytes], name: str) -> tuple[Path, bytes, int]:
        """Write a new file and sync it to disk; return its path, first bytes and size."""
        path = self.folder / f"{token_hex(8)}{f'-{name}' if name else ''}"
        file = await asyncio.to_thread(_create, path)
        try:
            head, size = await self._write(file, data, name or "the file")
            await asyncio.to_thread(_sync_and_close, file)
        except BaseException:
            file.close()
            path.unlink(missing_ok=True)
            raise
        return path, head, size

    async def _write(
        self, file: BinaryIO, data: bytes | AsyncIterable[bytes], name: str
    ) -> tuple[bytes, int]:
        head, size, buffer = b"", 0, bytearray()
        chunks = _single_chunk(data) if isinstance(data, bytes) else data
        async for chunk in chunks:
            size += len(chunk)
            if size > self.max_bytes:
                raise FileTooLarge(f"{name} is larger than the limit of {self.max_bytes:,} bytes.")
            head = head if len(head) >= SNIFF_BYTES else (head + chunk)[:SNIFF_BYTES]
            buffer += chunk
            if len(buffer) >= WRITE_BUFFER_BYTES:
                await asyncio.to_thread(file.write, bytes(buffer))
                buffer.clear()
        await asyncio.to_thread(file.write, bytes(buffer))
        return head, size


class FileDownloader:
    """Downloads the files of messages.

    Args:
        host: the plugin's host.
        client: the platform.
        media: saves files.
        problems: reports missing permissions.
    """

    def __init__(
        self, host: Host, client: PlatformClient, media: MediaStore, problems: PermissionProblems
    ) -> None:
        self._host, self._client, self._media = host, client, media
        self._problems = problems
        self._notices: OrderedDict[str, str] = OrderedDict()

    async def attach(self, inbound: Inbound, files: Sequence[RemoteFile]) -> Inbound:
        """Return the message with its files as attachments.

        Its text mentions files that were not accepted. Nothing is downloaded for a person whose
        message will be refused.
        """
        if files and not await self._may_write(inbound):
            return replace(inbound, text=inbound.text or f"({files[0].name})")
        results = await asyncio.gather(*[self._download(file) for file in files])
        problems = [one for one in results if isinstance(one, str)]
        items = tuple(one for one in results if not isinstance(one, str))
        if problems:
            self._notices[inbound.message_id] = "\n".join(problems)
            while len(self._notices) > MAX_PENDING_NOTICES:
                self._notices.popitem(last=False)
        parts = [inbound.text, *(f"({problem})" for problem in problems)]
        text = "\n\n".join(part for part in parts if part)
        return replace(inbound, text=text, attachments=(*inbound.attachments, *items))

    def pop_notice(self, message_id: str) -> str | None:
        """Remove and return the notice for a message's sender about its files."""
        return self._notices.pop(message_id, None)

    async def _may_write(self, inbound: Inbound) -> bool:
        access = self._host.services.get(Access)
        return access is None or await access.may_write(inbound.channel, inbound.user_id)

    async def _download(self, file: RemoteFile) -> Attachment | Audio | str:
        """Return the saved file, or a sentence about why there is none."""
        if file.size > self._media.max_bytes:
            return self._too_large(file)
        for attempt in range(1, MAX_ATTEMPTS + 1):
            try:
                async with asyncio.timeout(DOWNLOAD_TIMEOUT):
                    data = await self._client.fetch_file(file)
                    if file.is_voice:
                        return await self._media.save_audio(
                            data, file.seconds, is_recording=file.is_recording
                        )
                    return await self._media.save_attachment(data, file.name)
            except FileTooLarge:
                return self._too_large(file)
            except PermissionDenied as error:
                await self._problems.report(error)
                break
            except ChatGone as error:
                self._host.log.warning("cannot download a file: %s", error)
                break
            except Exception as error:
                self._host.log.warning("cannot download a file: %s", error or type(error))
            if attempt < MAX_ATTEMPTS:
                await asyncio.sleep(attempt * RETRY_PAUSE)
        return f"The file {file.name} could not be downloaded. Please send it again."

    def _too_large(self, file: RemoteFile) -> str:
        size = f" ({file.size / 1e6:.0f} MB)" if file.size else ""
        return (
            f"The file {file.name}{size} is too large: the limit is "
            f"{self._media.max_bytes / 1e6:g} MB. Send it in parts, or send a link."
        )


def safe_name(name: str) -> str:
    """Return a sender's file name without folders and unsafe characters; may be empty."""
    last = re.split(r"[/\\]", name)[-1]
    clean = _UNSAFE.sub("_", last).strip(" ._").lstrip(" ._-")
    stem, dot, suffix = clean.rpartition(".")
    if not dot or len(suffix) > 10:
        stem, dot, suffix = clean, "", ""
    kept = (stem[: MAX_NAME_CHARS - len(suffix)] + dot + suffix).encode("utf-8", "ignore")
    while len(kept) > MAX_NAME_BYTES:
        stem = stem[:-8]
        kept = (stem + dot + suffix).encode("utf-8", "ignore")
    return kept.decode("utf-8")


async def _single_chunk(data: bytes) -> AsyncIterable[bytes]:
    yield data


def _create(path: Path) -> BinaryIO:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    return os.fdopen(os.open(path, flags, 0o600), "wb")


def _sync_and_close(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
    file.close()


def _prune(folder: Path, before: float) -> int:
    deleted = 0
    for path in folder.iterdir() if folder.is_dir() else ():
        if (
            _SAVED_NAME.fullmatch(path.name)
            and path.lstat().st_mtime < before
            and not path.is_dir()
        ):
            path.unlink(missing_ok=True)
            deleted += 1
    return deleted
