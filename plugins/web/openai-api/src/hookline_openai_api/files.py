"""Files of a message, saved as attachments before the message is stored."""

from __future__ import annotations

from hookline_channelkit import MediaStore
from hookline_hookspecs import Attachment, Audio, HooklineError, Host
from hookline_hookspecs.speech import audio_kind

from .content import Content, FilePart
from .errors import ApiError, bad
from .keys import CHANNEL

FETCH_SECONDS = 30.0


class Files:
    """Saves files in the folder ``media/api`` of Hookline's home."""

    def __init__(self, host: Host, limit: int) -> None:
        self._host = host
        self._limit = limit
        self._media = MediaStore(host, CHANNEL, limit)

    async def save(self, content: Content) -> tuple[Attachment | Audio, ...]:
        """Return what a message has attached. Raises ``ApiError``: 413 for what is too large, 400
        for a URL that cannot be fetched."""
        return tuple([await self.save_one(part) for part in content.files])

    async def save_one(self, part: FilePart) -> Attachment | Audio:
        """Return one file, saved; raises like :meth:`save`."""
        data = await self._fetched(part.url) if part.url else part.data
        if not data:
            raise bad(f"The file {part.name} is empty.")
        if len(data) > self._limit:
            raise ApiError(
                413,
                f"The file {part.name} has {len(data):,} bytes; {self._limit:,} are taken.",
                "file_too_large",
            )
        try:
            if audio_kind(data[:4096]) is not None:
                return await self._media.save_audio(data)
            return await self._media.save_attachment(data, part.name)
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise ApiError(503, f"The file could not be saved: {why}.", "storage") from None

    async def _fetched(self, url: str) -> bytes:
        try:
            found = await self._host.http.get(url, timeout=FETCH_SECONDS, max_bytes=self._limit)
        except HooklineError as error:
            raise bad(f"{url[:200]} cannot be fetched: {error}", code="invalid_url") from None
        if found.status >= 400:
            raise bad(f"{url[:200]} answered {found.status}.", code="invalid_url")
        return found.body

    async def prune(self, before: float) -> None:
        """Delete files that are older than the Unix time ``before``."""
        await self._media.prune(before)
