"""The plugin: turns voice messages into text, and answers to them into voice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from hookline_hookspecs import (
    Attachment,
    Audio,
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
from hookline_hookspecs.speech import ReadAloud, Speaker, Transcriber, media_folder, prune

from .config import VoiceConfig
from .text_to_voice import NO_SPEAKER, AnswerRecorder
from .voice_messages import NO_TRANSCRIBER, transcribe_voice_message

DAY_SECONDS = 86_400.0
_FIX = "Switch on the plugin multimedia and give it a service (plugins.multimedia)."


class Voice(Plugin[VoiceConfig]):
    """Transcribes voice messages and answers them with voice."""

    preserves_streaming = True

    @hookimpl
    def setup(self, host: Host) -> None:
        """Provide the service ``ReadAloud``."""
        self._recorder = AnswerRecorder(host, self.config)
        host.services.provide(ReadAloud, self)

    async def read_aloud(self, text: str, channel: str) -> Sequence[Audio | Attachment]:
        """Save an answer as recordings and return them. Raises ``HooklineError``."""
        speaker = self.host.services.get(Speaker)
        if speaker is None:
            raise ToolError(f"Nothing is read aloud: {NO_SPEAKER}.")
        try:
            async with asyncio.timeout(self.config.timeout):
                return await self._recorder.record(speaker, text, channel)
        except TimeoutError:
            raise ToolError(f"It was not spoken within {self.config.timeout:g} s.") from None

    @hookimpl
    async def on_voice(self, ctx: Context, audio: Audio) -> str | None:
        """Turn a voice message into text; None, and a notice to the person, if that fails."""
        transcriber = self.host.services.get(Transcriber)
        return await transcribe_voice_message(ctx, audio, transcriber, self.config)

    @hookimpl
    async def pre_reply(self, ctx: Context, reply: Reply) -> Reply | None:
        """Add recordings of the answer to a voice message."""
        had_voice = any(isinstance(item, Audio) for item in ctx.turn.inbound.attachments)
        if not (self.config.round_trip and had_voice):
            return None
        speaker = self.host.services.get(Speaker)
        if speaker is None:
            ctx.notify(f"The answer is not spoken: {NO_SPEAKER}.")
            return None
        try:
            async with asyncio.timeout(self.config.timeout):
                recordings = await self._recorder.record(speaker, reply.text, ctx.channel)
        except TimeoutError:
            ctx.notify(f"The answer was not spoken within {self.config.timeout:g} s.")
        except (HooklineError, OSError) as error:
            ctx.notify(f"The answer could not be spoken: {error}")
        else:
            return replace(reply, attachments=(*reply.attachments, *recordings))
        return None

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """Register the check that speech services are available."""
        register(Check("voice", self._check))

    def _check(self) -> CheckResult:
        services = self.host.services
        if services.get(Transcriber) is None:
            return CheckResult(False, NO_TRANSCRIBER, _FIX)
        if self.config.round_trip and services.get(Speaker) is None:
            return CheckResult(False, NO_SPEAKER, _FIX)
        return CheckResult(True, "voice messages are understood")

    @hookimpl
    def register_jobs(self, register: Callable[[Job], None]) -> None:
        """Register the job that deletes old recordings."""
        register(Job("prune", self._prune, DAY_SECONDS, at_start=True))

    async def _prune(self) -> None:
        before = self.host.now() - self.config.keep_days * DAY_SECONDS
        await asyncio.to_thread(prune, media_folder(self.host.home), before)
