"""Turns an answer into recordings in the form that is native to its channel."""

from __future__ import annotations

import asyncio

from hookline_hookspecs import Attachment, Audio, BadRequest, Host
from hookline_hookspecs.speech import Speaker, Spoken, keep, media_folder, seconds

from .audio_conversion import convert
from .config import VoiceConfig
from .native_forms import NativeForm, native_form
from .spoken_text import shorten, split, spoken_text

NO_SPEAKER = "no enabled plugin turns text into speech"
FALLBACK_FORMATS = ("mp3", "wav")
"""Formats to try if a service does not support the channel's."""


class AnswerRecorder:
    """Records answers."""

    def __init__(self, host: Host, config: VoiceConfig) -> None:
        self._host = host
        self._config = config

    async def record(self, speaker: Speaker, text: str, channel: str) -> list[Audio | Attachment]:
        """``text`` as saved recordings in the channel's native form; none if it has no words.

        Raises:
            HooklineError: the service failed.
            OSError: a recording cannot be saved.
        """
        form = native_form(channel, self._config.channels)
        words = await asyncio.to_thread(spoken_text, text)
        words = shorten(words, self._config.max_chars, self._config.rest)
        recordings = [
            await self._speak(speaker, part, form.format)
            for part in split(words, speaker.max_chars)
        ]
        return await asyncio.to_thread(self._save, recordings, form)

    async def _speak(self, speaker: Speaker, text: str, format_name: str) -> Spoken:
        """``text`` in the format, or in another one that the service supports."""
        formats = list(dict.fromkeys((format_name, *FALLBACK_FORMATS)))
        for name in formats:
            try:
                spoken = await speaker.speak(text, voice=self._config.voice, format=name)
            except BadRequest:
                if name == formats[-1]:
                    raise
            else:
                return await asyncio.to_thread(convert, spoken, format_name)
        raise AssertionError("the last format either raises or returns")

    def _save(self, recordings: list[Spoken], form: NativeForm) -> list[Audio | Attachment]:
        saved: list[Audio | Attachment] = []
        for number, spoken in enumerate(recordings, 1):
            data, kind = spoken.data, spoken.kind
            path = keep(media_folder(self._host.home), data, kind.suffix)
            if form.form == "voice" and kind.name == form.format:
                saved.append(Audio(path, kind.mime, seconds(data), origins=()))
            else:
                name = f"answer{f'-{number}' if len(recordings) > 1 else ''}{kind.suffix}"
                saved.append(Attachment(path, kind.mime, name, len(data), origins=()))
        return saved
