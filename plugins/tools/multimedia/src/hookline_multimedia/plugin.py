"""The plugin: four tools, two services for other plugins, and attachments of the reply."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

from hookline_hookspecs import (
    Check,
    CheckResult,
    Context,
    Effect,
    Host,
    Job,
    Plugin,
    Reply,
    Tool,
    ToolCall,
    ToolError,
    Turn,
    hookimpl,
)
from hookline_hookspecs.image_kinds import image_kind
from hookline_hookspecs.speech import Speaker, Transcriber, audio_kind, media_folder, prune

from .config import MultimediaConfig
from .endpoints import SERVICES
from .images import ImageService
from .media_reader import MediaReader
from .reply_attachments import ReplyAttachments
from .service_client import ServiceClient
from .speech_synthesis import SpeechSynthesizer
from .transcription import SpeechTranscriber

DAY_SECONDS = 86_400.0
MAX_SIDE_PIXELS = 16_384
"""Larger sizes are refused before a request; services accept far less."""
_SIZE = re.compile(r"auto|([1-9][0-9]{1,4})x([1-9][0-9]{1,4})")
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-zA-Z]{2,4})?")
_DESCRIBE = "Describe this picture: what it shows, and the text in it."


class Multimedia(Plugin[MultimediaConfig]):
    """Makes and describes pictures, speaks and transcribes."""

    preserves_streaming = True

    def __init__(self, config: MultimediaConfig, host: Host) -> None:
        super().__init__(config, host)
        self._client = ServiceClient(host, config)
        self._images = ImageService(host, self._client, config.max_image_bytes)
        self._speaker = SpeechSynthesizer(self._client, config.speech)
        self._transcriber = SpeechTranscriber(self._client, config.max_audio_bytes)
        self._reader = MediaReader(host, config.allowed_read_dirs)
        self._attachments = ReplyAttachments(host.home)

    @hookimpl
    def setup(self, host: Host) -> None:
        """Provide ``Transcriber`` and ``Speaker`` if their services are configured."""
        if self._client.endpoint("transcription"):
            host.services.provide(Transcriber, self._transcriber)
        if self._client.endpoint("speech"):
            host.services.provide(Speaker, self._speaker)

    @hookimpl
    async def teardown(self, host: Host) -> None:
        """Close the connections."""
        await self._client.aclose()

    @hookimpl
    def register_tools(self, register: Callable[[Tool], None]) -> None:
        """Register only the tools whose service is configured."""
        if self._client.endpoint("image"):
            register(
                Tool.from_function(self.generate_image, origin="workspace", effects=_write_effects)
            )
        if self._client.endpoint("vision"):
            register(
                Tool.from_function(
                    self.describe_image,
                    read_only=True,
                    origin="outside",
                    effects=_read_effects("image"),
                )
            )
        if self._client.endpoint("speech"):
            register(
                Tool.from_function(self.text_to_speech, origin="workspace", effects=_write_effects)
            )
        if self._client.endpoint("transcription"):
            register(
                Tool.from_function(
                    self.transcribe_audio,
                    read_only=True,
                    origin="outside",
                    effects=_read_effects("audio"),
                )
            )

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """Register the check that lists the services."""
        register(Check("multimedia services", self._check))

    @hookimpl
    def register_jobs(self, register: Callable[[Job], None]) -> None:
        """Register the job that deletes old files."""
        register(Job("prune", self._prune, DAY_SECONDS, at_start=True))

    @hookimpl
    def start_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Allow the attachments of the message to be read."""
        self._reader.allow(ctx, turn.inbound.attachments)

    @hookimpl
    async def pre_reply(self, ctx: Context, reply: Reply) -> Reply | None:
        """Attach the files that were made in this turn."""
        made = await asyncio.to_thread(self._attachments.collect, ctx)
        return replace(reply, attachments=(*reply.attachments, *made)) if made else None

    async def generate_image(
        self, ctx: Context, prompt: str, size: str | None = None, model: str | None = None
    ) -> str:
        """Make a picture and send it to the person.

        Args:
            size: such as 1024x1024
        """
        dimensions = (size or "").strip().lower() or None
        if dimensions and not _is_size(dimensions):
            raise ToolError(f"size is such as 1024x1024 or auto, not {dimensions[:40]!r}")
        model = (model or "").strip()
        if len(model) > 200:
            raise ToolError("not a valid model name; leave it out")
        data, kind = await self._images.generate(_require_text(prompt, "prompt"), dimensions, model)
        return await self._save(ctx, data, kind.suffix, kind.mime)

    async def describe_image(self, ctx: Context, image: str, prompt: str | None = None) -> str:
        """Look at a picture.

        Args:
            image: path or URL
            prompt: what to find out
        """
        found = await self._reader.read(ctx, image, self.config.max_image_bytes)
        kind = image_kind(found.data)
        if kind is None:
            raise ToolError(f"{_quoted(image)} is not a PNG, JPEG, GIF or WebP by its content")
        text = await self._images.describe(found.data, kind, (prompt or "").strip() or _DESCRIBE)
        return await ctx.read(text, found.source, found.kind)

    async def text_to_speech(
        self,
        ctx: Context,
        text: str,
        voice: str | None = None,
        format: Literal["mp3", "opus", "wav", "flac"] = "mp3",  # noqa: A002 - what the model calls it
    ) -> str:
        """Read a text aloud and send the recording to the person."""
        voice = (voice or "").strip() or None
        spoken = await self._speaker.speak(_require_text(text, "text"), voice=voice, format=format)
        return await self._save(ctx, spoken.data, spoken.kind.suffix, spoken.kind.mime)

    async def transcribe_audio(self, ctx: Context, audio: str, language: str | None = None) -> str:
        """Write down what is said in a recording.

        Args:
            audio: path or URL
            language: such as en
        """
        language = (language or "").strip()
        if language and not _LANGUAGE.fullmatch(language):
            raise ToolError(f"language is a code such as en or de, not {language[:40]!r}")
        found = await self._reader.read(ctx, audio, self.config.max_audio_bytes)
        kind = audio_kind(found.data)
        if kind is None:
            raise ToolError(
                f"{_quoted(audio)} is not OGG, MP3, WAV, M4A, MP4, WebM, FLAC or AAC by its content"
            )
        text = await self._transcriber.transcribe_bytes(found.data, kind, language or None)
        return await ctx.read(text, found.source, found.kind) or "(no words)"

    async def _save(self, ctx: Context, data: bytes, suffix: str, mime: str) -> str:
        try:
            path = await asyncio.to_thread(self._attachments.save, data, suffix)
        except OSError as error:
            raise ToolError(f"the file cannot be saved: {error.strerror or error}") from None
        return self._attachments.record(ctx, path, mime, len(data))

    def _check(self) -> CheckResult:
        endpoints = [self._client.endpoint(name) for name in SERVICES]
        configured = [endpoint for endpoint in endpoints if endpoint is not None]
        listed = ", ".join(
            f"{service.service}: {service.model} at {service.base_url}" for service in configured
        )
        if len(configured) == len(SERVICES):
            return CheckResult(True, listed)
        missing = ", ".join(name for name in SERVICES if self._client.endpoint(name) is None)
        detail = f"{listed or 'no tool is offered'}; not configured: {missing}"
        return CheckResult(True, detail, _FIX, hint=True)

    async def _prune(self) -> None:
        before = self.host.now() - self.config.keep_days * DAY_SECONDS
        await asyncio.to_thread(prune, media_folder(self.host.home), before)


_FIX = (
    "Put OPENAI_API_KEY=… into the home's .env, or set plugins.multimedia.base_url in config.yaml "
    "to your own service."
)


def _is_size(text: str) -> bool:
    found = _SIZE.fullmatch(text)
    return found is not None and all(
        int(side) <= MAX_SIDE_PIXELS for side in found.groups() if side
    )


def _require_text(text: str, name: str) -> str:
    if not text.strip():
        raise ToolError(f"{name} is empty")
    return text.strip()


def _quoted(name: str) -> str:
    return repr(name if len(name) <= 200 else name[:199] + "…")


def _write_effects(ctx: Context, call: ToolCall) -> Sequence[Effect]:
    """Effects of a tool that makes a file."""
    return [Effect("write", "media")]


def _read_effects(argument: str) -> Callable[[Context, ToolCall], Sequence[Effect]]:
    """Effects of a tool that reads a file or URL in this argument."""

    def effects(ctx: Context, call: ToolCall) -> Sequence[Effect]:
        place = str(call.arguments.get(argument, ""))
        return [Effect("network" if "://" in place else "read", place)]

    return effects
