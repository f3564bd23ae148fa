"""The plugin: four tools, two services for other plugins, and what was made goes with the reply."""

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
from hookline_hookspecs.speech import Speaker, Transcriber, audio_kind, media_folder, prune

from .config import MultimediaConfig
from .delivery import Delivery
from .endpoints import SERVICES
from .pictures import picture_kind
from .reading import Reader
from .services import Services

DAY = 86_400.0
LONGEST_SIDE = 16_384
"""Pixels; services refuse far less, but what they do with absurd numbers is not known."""
_SIZE = re.compile(r"auto|([1-9][0-9]{1,4})x([1-9][0-9]{1,4})")
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-zA-Z]{2,4})?")
_DESCRIBE = "Describe this picture: what it shows, and the text in it."


class Multimedia(Plugin[MultimediaConfig]):
    """Makes and describes pictures, speaks and transcribes."""

    preserves_streaming = True

    def __init__(self, config: MultimediaConfig, host: Host) -> None:
        super().__init__(config, host)
        self._services = Services(host, config)
        self._reader = Reader(host, config.allowed_read_dirs)
        self._delivery = Delivery(host.home)

    @hookimpl
    def setup(self, host: Host) -> None:
        """Offer to other plugins what is configured."""
        if self._services.at("transcription"):
            host.services.provide(Transcriber, self._services)
        if self._services.at("speech"):
            host.services.provide(Speaker, self._services)

    @hookimpl
    async def teardown(self, host: Host) -> None:
        """Close the connections."""
        await self._services.aclose()

    @hookimpl
    def register_tools(self, register: Callable[[Tool], None]) -> None:
        """The tools whose service is there: nothing else costs tokens."""
        if self._services.at("image"):
            register(Tool.from_function(self.generate_image, origin="workspace", effects=_makes))
        if self._services.at("vision"):
            register(
                Tool.from_function(
                    self.describe_image, read_only=True, origin="outside", effects=_reads("image")
                )
            )
        if self._services.at("speech"):
            register(Tool.from_function(self.text_to_speech, origin="workspace", effects=_makes))
        if self._services.at("transcription"):
            register(
                Tool.from_function(
                    self.transcribe_audio, read_only=True, origin="outside", effects=_reads("audio")
                )
            )

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """The doctor tells which services there are."""
        register(Check("multimedia services", self._check))

    @hookimpl
    def register_jobs(self, register: Callable[[Job], None]) -> None:
        """Delete what was made long ago."""
        register(Job("prune", self._prune, DAY, at_start=True))

    @hookimpl
    def start_of_turn(self, ctx: Context, turn: Turn) -> None:
        """What came with the message may be read."""
        self._reader.allow(ctx, turn.inbound.attachments)

    @hookimpl
    async def pre_reply(self, ctx: Context, reply: Reply) -> Reply | None:
        """Send along what was made in this turn."""
        made = await asyncio.to_thread(self._delivery.made, ctx)
        return replace(reply, attachments=(*reply.attachments, *made)) if made else None

    # The tools

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
            raise ToolError("that is no name of a model; leave it out")
        data, kind = await self._services.make_picture(_some(prompt, "prompt"), dimensions, model)
        return await self._saved(ctx, data, kind.suffix, kind.mime)

    async def describe_image(self, ctx: Context, image: str, prompt: str | None = None) -> str:
        """Look at a picture.

        Args:
            image: path or URL
            prompt: what to find out
        """
        found = await self._reader.read(ctx, image, self.config.max_image_bytes)
        kind = picture_kind(found.data)
        if kind is None:
            raise ToolError(f"{_short(image)} is no PNG, JPEG, GIF or WebP by its content")
        text = await self._services.describe(found.data, kind, (prompt or "").strip() or _DESCRIBE)
        return await ctx.read(text, found.source, found.kind)

    async def text_to_speech(
        self,
        ctx: Context,
        text: str,
        voice: str | None = None,
        format: Literal["mp3", "opus", "wav", "flac"] = "mp3",  # noqa: A002 - the contract's name
    ) -> str:
        """Read a text aloud and send the recording to the person."""
        voice = (voice or "").strip() or None
        spoken = await self._services.speak(_some(text, "text"), voice=voice, format=format)
        return await self._saved(ctx, spoken.data, spoken.kind.suffix, spoken.kind.mime)

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
                f"{_short(audio)} is no OGG, MP3, WAV, M4A, MP4, WebM, FLAC or AAC by its content"
            )
        text = await self._services.write_down(found.data, kind, language or None)
        return await ctx.read(text, found.source, found.kind) or "(no words)"

    async def _saved(self, ctx: Context, data: bytes, suffix: str, mime: str) -> str:
        try:
            path = await asyncio.to_thread(self._delivery.save, data, suffix)
        except OSError as error:
            raise ToolError(f"what was made cannot be saved: {error.strerror or error}") from None
        return self._delivery.note(ctx, path, mime, len(data))

    # Looking after it

    def _check(self) -> CheckResult:
        found = [at for name in SERVICES if (at := self._services.at(name)) is not None]
        told = ", ".join(f"{at.service}: {at.model} at {at.base_url}" for at in found)
        if len(found) == len(SERVICES):
            return CheckResult(True, told)
        off = ", ".join(name for name in SERVICES if self._services.at(name) is None)
        detail = f"{told or 'no tool is offered'}; not there: {off}"
        return CheckResult(True, detail, _FIX, hint=True)

    async def _prune(self) -> None:
        before = self.host.now() - self.config.keep_days * DAY
        await asyncio.to_thread(prune, media_folder(self.host.home), before)


_FIX = (
    "Put OPENAI_API_KEY=… into the home's .env, or set plugins.multimedia.base_url in config.yaml "
    "to a service of your own."
)


def _is_size(text: str) -> bool:
    found = _SIZE.fullmatch(text)
    return found is not None and all(int(side) <= LONGEST_SIDE for side in found.groups() if side)


def _some(text: str, name: str) -> str:
    if not text.strip():
        raise ToolError(f"{name} is empty")
    return text.strip()


def _short(name: str) -> str:
    return repr(name if len(name) <= 200 else name[:199] + "…")


def _makes(ctx: Context, call: ToolCall) -> Sequence[Effect]:
    """A file in the folder of what was made."""
    return [Effect("write", "media")]


def _reads(argument: str) -> Callable[[Context, ToolCall], Sequence[Effect]]:
    """A file, or an address that is fetched."""

    def effects(ctx: Context, call: ToolCall) -> Sequence[Effect]:
        place = str(call.arguments.get(argument, ""))
        return [Effect("network" if "://" in place else "read", place)]

    return effects
