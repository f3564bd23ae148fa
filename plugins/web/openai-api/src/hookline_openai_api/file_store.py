"""Saves a message's files as attachments before the message is stored."""

from __future__ import annotations

from hookline_channelkit import MediaStore
from hookline_hookspecs import Attachment, Audio, HooklineError, Host
from hookline_hookspecs.speech import audio_kind

from .errors import ApiError, invalid_request
from .keys import CHANNEL
from .message_content import FilePart, MessageContent

FETCH_TIMEOUT = 30.0


class FileStore:
    """Saves files in the folder ``media/api`` of Hookline's home."""

    def __init__(self, host: Host, limit: int) -> None:
        self._host = host
        self._limit = limit
        self._media = MediaStore(host, CHANNEL, limit)

    async def save(self, content: MessageContent) -> tuple[Attachment | Audio, ...]:
        """Save the files of a message. Raises ``ApiError``: 413 for a file that is too large, 400
        for a URL that cannot be fetched."""
        return tuple([await self.save_one(part) for part in content.files])

    async def save_one(self, part: FilePart) -> Attachment | Audio:
        """Save one file; raises like :meth:`save`."""
        data = await self._fetch(part.url) if part.url else part.data
        if not data:
            raise invalid_request(f"The file {part.name} is empty.")
        if len(data) > self._limit:
            raise ApiError(
                413,
                f"The file {part.name} has {len(data):,} bytes; the maximum is {self._limit:,}.",
                "file_too_large",
            )
        try:
            if audio_kind(data[:4096]) is not None:
                return await self._media.save_audio(data)
            return await self._media.save_attachment(data, part.name)
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise ApiError(503, f"Cannot save the file: {why}.", "storage") from None

    async def _fetch(self, url: str) -> bytes:
        try:
            found = await self._host.http.get(url, timeout=FETCH_TIMEOUT, max_bytes=self._limit)
        except HooklineError as error:
            raise invalid_request(
                f"Cannot fetch {url[:200]}: {error}", code="invalid_url"
            ) from None
        if found.status >= 400:
            raise invalid_request(
                f"{url[:200]} returned status {found.status}.", code="invalid_url"
            )
        return found.body

    async def prune(self, before: float) -> None:
        """Delete files older than the Unix time ``before``."""
        await self._media.prune(before)
