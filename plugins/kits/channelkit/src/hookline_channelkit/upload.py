"""A file on its way out: its bytes, name and sound, as requests need them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from hookline_hookspecs import Attachment, Audio
from hookline_hookspecs.speech import audio_kind, seconds


@dataclass(frozen=True, slots=True)
class Upload:
    """A file to send.

    Attributes:
        name: for people.
        data: its bytes.
        mime: its type, judged by its content.
        is_sound: it is an ``Audio``.
        is_opus: besides, it is OGG/Opus, which platforms show as a voice message.
        seconds: of a sound, as far as it is known; else 0.
        waveform: of a sound, see ``Audio``.
    """

    name: str
    data: bytes
    mime: str
    is_sound: bool = False
    is_opus: bool = False
    seconds: float = 0.0
    waveform: bytes = b""

    @classmethod
    async def of(cls, item: Attachment | Audio) -> Upload:
        """Read it."""
        data = await asyncio.to_thread(item.path.read_bytes)
        if isinstance(item, Attachment):
            return cls(item.name, data, item.mime)
        kind = audio_kind(data)
        is_opus = kind is not None and kind.name == "opus"
        length = item.duration or seconds(data)
        return cls(item.path.name, data, item.mime, True, is_opus, length, item.waveform)
