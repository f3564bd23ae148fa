"""The four services: what is asked of each, and what is made of its answer.

:class:`Services` is a ``Transcriber`` and a ``Speaker`` of ``hookline_hookspecs.speech`` too.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from hookline_hookspecs import BadRequest, Delta, Host, NetworkError, ToolError
from hookline_hookspecs.speech import AudioKind, Spoken, audio_kind

from .asking import Asker
from .config import MultimediaConfig, SpeechConfig
from .endpoints import SERVICES, Endpoint, ServiceName, endpoint
from .failures import no_answer
from .pictures import PictureKind, picture_kind
from .reading import read_bounded

if TYPE_CHECKING:
    from openai import AsyncOpenAI

MOST_WORDS = 4_000_000
"""Bytes of an answer that is text."""
MOST_SPEECH = 100_000_000
"""Bytes of a recording that a service makes; a minute of WAV takes about 3,000,000."""


class Services:
    """Every service that is configured."""

    def __init__(self, host: Host, config: MultimediaConfig) -> None:
        self._host = host
        self._config = config
        openai = host.provider("openai")
        self._found = {name: endpoint(config, name, openai) for name in SERVICES}
        self._asker = Asker(config.timeout, config.max_retries, self._tell)

    def at(self, service: ServiceName) -> Endpoint | None:
        """Where ``service`` is, None where there is none."""
        return self._found[service]

    def _tell(self, delta: Delta) -> None:
        """Show the wait to whoever the running turn or command is for."""
        self._host.signals.send("delta", delta)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._asker.aclose()

    # Pictures

    async def make_picture(
        self, prompt: str, dimensions: str | None, model: str | None
    ) -> tuple[bytes, PictureKind]:
        """A picture of ``prompt``. ``dimensions`` such as ``1024x1024``; None: the service's."""
        at = self._known("image")
        options: dict[str, Any] = {"size": dimensions} if dimensions else {}

        def request(client: AsyncOpenAI, headers: Mapping[str, str]) -> Any:
            images = client.images.with_streaming_response
            return images.generate(
                model=model or at.model, prompt=prompt, extra_headers=headers, **options
            )

        # Base64 takes four bytes for three, and there is some JSON around it.
        most = self._config.max_image_bytes * 4 // 3 + 100_000
        data = await self._picture(at, await self._asker.ask(at, request, most))
        kind = picture_kind(data)
        if kind is None:
            raise no_answer("a PNG, JPEG, GIF or WebP picture", data, at)
        return data, kind

    async def _picture(self, at: Endpoint, said: bytes) -> bytes:
        """The first picture of an answer: inside it, or at the address it gives."""
        try:
            first = json.loads(said)["data"][0]
            inside, url = first.get("b64_json"), first.get("url")
            if inside:
                return base64.b64decode(inside, validate=True)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise no_answer("a picture", said, at) from None
        if not isinstance(url, str):
            raise no_answer("a picture", said, at)
        most = self._config.max_image_bytes
        if urlsplit(url)[:2] == urlsplit(at.base_url)[:2]:
            # The operator's own server, which may be private, shows its own picture.
            return await self._asker.fetch(at, url, most)
        found = await self._host.http.get(url, max_bytes=most, timeout=60)
        if found.status != 200:
            raise NetworkError(f"The picture could not be fetched: {url[:200]}, {found.status}.")
        return found.body

    async def describe(self, data: bytes, kind: PictureKind, prompt: str) -> str:
        """What the model that sees says to ``prompt`` about a picture."""
        at = self._known("vision")
        url = f"data:{kind.mime};base64,{base64.b64encode(data).decode('ascii')}"
        parts: Any = [
            {"type": "text", "text": prompt},
            {"type": "image_url", "image_url": {"url": url}},
        ]

        def request(client: AsyncOpenAI, headers: Mapping[str, str]) -> Any:
            chat = client.chat.completions.with_streaming_response
            return chat.create(
                model=at.model, messages=[{"role": "user", "content": parts}], extra_headers=headers
            )

        said = await self._asker.ask(at, request, MOST_WORDS)
        try:
            message = json.loads(said)["choices"][0]["message"]
            text, refusal = message.get("content"), message.get("refusal")
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise no_answer("a description", said, at) from None
        if isinstance(text, str) and text.strip():
            return text.strip()
        if isinstance(refusal, str) and refusal:
            raise BadRequest(f"The vision service refused the content: {refusal[:300]}")
        raise no_answer("a description", b"", at)

    # Sound

    @property
    def max_chars(self) -> int:
        """Characters that one call of :meth:`speak` takes."""
        speech = self._config.speech
        return speech.max_chars if isinstance(speech, SpeechConfig) else 0

    async def speak(self, text: str, *, voice: str | None = None, format: str = "mp3") -> Spoken:  # noqa: A002
        """``text``, read aloud. Raises ``BadRequest`` if it is too long."""
        at = self._known("speech")
        if len(text) > self.max_chars:
            raise BadRequest(
                f"The text has {len(text)} characters; at most {self.max_chars} are spoken at "
                "once. Shorten it, or speak it in parts."
            )
        speech = self._config.speech
        speaker = voice or (speech.voice if isinstance(speech, SpeechConfig) else "")
        wanted: Any = format

        def request(client: AsyncOpenAI, headers: Mapping[str, str]) -> Any:
            voices = client.audio.speech.with_streaming_response
            return voices.create(
                model=at.model,
                input=text,
                voice=speaker,
                response_format=wanted,
                extra_headers=headers,
            )

        data = await self._asker.ask(at, request, MOST_SPEECH)
        kind = audio_kind(data)
        if kind is None:
            raise no_answer("a recording", data, at)
        return Spoken(data, kind)

    async def transcribe(self, path: Path, *, language: str | None = None) -> str:
        """The words in the file at ``path``, for which the caller vouches."""
        data = await asyncio.to_thread(_read, path, self._config.max_audio_bytes)
        kind = audio_kind(data)
        if kind is None:
            raise ToolError("The recording is of no type that can be transcribed.")
        return await self.write_down(data, kind, language)

    async def write_down(self, data: bytes, kind: AudioKind, language: str | None) -> str:
        """The words in a recording; ``language`` None: the service finds out."""
        at = self._known("transcription")
        options: dict[str, Any] = {"language": language} if language else {}
        # Services go by the ending of the name, so it is made from the content.
        file = (f"audio{kind.suffix}", data, kind.mime)

        def request(client: AsyncOpenAI, headers: Mapping[str, str]) -> Any:
            transcriptions = client.audio.transcriptions.with_streaming_response
            return transcriptions.create(
                model=at.model, file=file, extra_headers=headers, **options
            )

        said = await self._asker.ask(at, request, MOST_WORDS)
        try:
            text = json.loads(said)["text"]
        except (ValueError, LookupError, TypeError, RecursionError):
            raise no_answer("a transcript", said, at) from None
        if not isinstance(text, str):
            raise no_answer("a transcript", said, at)
        return text.strip()

    def _known(self, service: ServiceName) -> Endpoint:
        at = self._found[service]
        if at is None:
            raise ToolError(f"there is no {service} service; the operator has to set it up")
        return at


def _read(path: Path, most: int) -> bytes:
    try:
        with path.open("rb") as stream:
            return read_bounded(stream, most, "the recording")
    except OSError as error:
        raise ToolError(f"The recording cannot be read: {error.strerror or error}.") from None
