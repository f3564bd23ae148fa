"""The plugin: a voice message into words, and the answer to it into voice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from hookline_hookspecs import (
    Attachment,
    Audio,
    BadRequest,
    Check,
    CheckResult,
    Context,
    HooklineError,
    Host,
    Job,
    Plugin,
    Reply,
    ToolError,
    hookimpl,
)
from hookline_hookspecs.speech import (
    ReadAloud,
    Speaker,
    Spoken,
    Transcriber,
    keep,
    media_folder,
    prune,
    seconds,
)

from .channels import NativeForm, native_form
from .config import VoiceConfig
from .convert import convert
from .speakable import pieces, shorten, speakable

DAY = 86_400.0
COMMON = ("mp3", "wav")
"""Formats to ask for where a service does not have the channel's."""


class Voice(Plugin[VoiceConfig]):
    """Hears voice messages and answers them with voice."""

    preserves_streaming = True

    @hookimpl
    def setup(self, host: Host) -> None:
        """Offer to read answers aloud."""
        host.services.provide(ReadAloud, self)

    async def read_aloud(self, text: str, channel: str) -> Sequence[Audio | Attachment]:
        """Keep an answer as recordings and return them. Raises ``HooklineError``."""
        speaker = self.host.services.get(Speaker)
        if speaker is None:
            raise ToolError(f"Nothing is read aloud: {_NOBODY_SPEAKS}.")
        try:
            async with asyncio.timeout(self.config.timeout):
                return await self._spoken(speaker, text, channel)
        except TimeoutError:
            raise ToolError(f"It was not spoken within {self.config.timeout:g} s.") from None

    @hookimpl
    async def on_voice(self, ctx: Context, audio: Audio) -> str | None:
        """The words of a voice message; None, and the person is told why, if there are none."""
        transcriber = self.host.services.get(Transcriber)
        if transcriber is None:
            ctx.notify(f"Voice messages are not understood: {_NOBODY_HEARS}.")
            return None
        language = self.config.language
        try:
            async with asyncio.timeout(self.config.timeout):
                words = await transcriber.transcribe(audio.path, language=language)
        except TimeoutError:
            ctx.notify(f"Nobody wrote it down within {self.config.timeout:g} s.")
        except HooklineError as error:
            ctx.notify(str(error))
        else:
            if words.strip():
                return words.strip()
            ctx.notify("No words were heard in the voice message.")
        return None

    @hookimpl
    async def pre_reply(self, ctx: Context, reply: Reply) -> Reply | None:
        """Add the spoken answer to a voice message."""
        came = any(isinstance(item, Audio) for item in ctx.turn.inbound.attachments)
        if not (self.config.round_trip and came):
            return None
        speaker = self.host.services.get(Speaker)
        if speaker is None:
            ctx.notify(f"The answer is not spoken: {_NOBODY_SPEAKS}.")
            return None
        try:
            async with asyncio.timeout(self.config.timeout):
                made = await self._spoken(speaker, reply.text, ctx.channel)
        except TimeoutError:
            ctx.notify(f"The answer was not spoken within {self.config.timeout:g} s.")
        except (HooklineError, OSError) as error:
            ctx.notify(f"The answer could not be spoken: {error}")
        else:
            return replace(reply, attachments=(*reply.attachments, *made))
        return None

    async def _spoken(self, speaker: Speaker, text: str, channel: str) -> list[Audio | Attachment]:
        """``text`` as recordings in the channel's native form, none if there is nothing to say."""
        form = native_form(channel, self.config.channels)
        words = await asyncio.to_thread(speakable, text)
        words = shorten(words, self.config.max_chars, self.config.rest)
        recordings = [
            await self._recording(speaker, piece, form.format)
            for piece in pieces(words, speaker.max_chars)
        ]
        return await asyncio.to_thread(self._kept, recordings, form)

    async def _recording(self, speaker: Speaker, text: str, wanted: str) -> Spoken:
        """``text`` in the format ``wanted``, or in another if nothing else can be had."""
        formats = list(dict.fromkeys((wanted, *COMMON)))
        for name in formats:
            try:
                spoken = await speaker.speak(text, voice=self.config.voice, format=name)
            except BadRequest:
                if name == formats[-1]:
                    raise
            else:
                return await asyncio.to_thread(convert, spoken, wanted)
        raise AssertionError("the last format either raises or returns")

    def _kept(self, recordings: list[Spoken], form: NativeForm) -> list[Audio | Attachment]:
        made: list[Audio | Attachment] = []
        for number, spoken in enumerate(recordings, 1):
            data, kind = spoken.data, spoken.kind
            path = keep(media_folder(self.host.home), data, kind.suffix)
            if form.form == "voice" and kind.name == form.format:
                made.append(Audio(path, kind.mime, seconds(data)))
            else:
                name = f"answer{f'-{number}' if len(recordings) > 1 else ''}{kind.suffix}"
                made.append(Attachment(path, kind.mime, name, len(data)))
        return made

    # Looking after it

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """The doctor tells whether somebody hears and speaks."""
        register(Check("voice", self._check))

    def _check(self) -> CheckResult:
        services = self.host.services
        if services.get(Transcriber) is None:
            return CheckResult(False, _NOBODY_HEARS, _FIX)
        if self.config.round_trip and services.get(Speaker) is None:
            return CheckResult(False, _NOBODY_SPEAKS, _FIX)
        return CheckResult(True, "voice messages are understood")

    @hookimpl
    def register_jobs(self, register: Callable[[Job], None]) -> None:
        """Delete recordings that were made long ago."""
        register(Job("prune", self._prune, DAY, at_start=True))

    async def _prune(self) -> None:
        before = self.host.now() - self.config.keep_days * DAY
        await asyncio.to_thread(prune, media_folder(self.host.home), before)


_NOBODY_HEARS = "no plugin that is on turns speech into text"
_NOBODY_SPEAKS = "no plugin that is on turns text into speech"
_FIX = "Switch on the plugin multimedia and give it a service (plugins.multimedia)."
