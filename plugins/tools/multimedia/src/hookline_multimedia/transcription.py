"""Turns speech into text: the service ``transcription``.

:class:`SpeechTranscriber` is the ``Transcriber`` that other plugins find in ``host.services``; the
plugin ``voice`` uses it for voice messages.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import ToolError
from hookline_hookspecs.speech import AudioKind, audio_kind

from .failures import no_answer
from .media_reader import read_bounded
from .service_client import MAX_TEXT_BYTES, ServiceClient

if TYPE_CHECKING:
    from openai import AsyncOpenAI


class SpeechTranscriber:
    """Requests to the service ``transcription``. ``max_bytes`` limits a recording."""

    def __init__(self, client: ServiceClient, max_bytes: int) -> None:
        self._client = client
        self._max_bytes = max_bytes

    async def transcribe(self, path: Path, *, language: str | None = None) -> str:
        """The words in the file at ``path``. The caller has checked that it may be read."""
        data = await asyncio.to_thread(self._read, path)
        kind = audio_kind(data)
        if kind is None:
            raise ToolError("The recording is of no type that can be transcribed.")
        return await self.transcribe_bytes(data, kind, language)

    async def transcribe_bytes(self, data: bytes, kind: AudioKind, language: str | None) -> str:
        """The words in a recording; ``language`` None: the service detects it."""
        endpoint = self._client.require("transcription")
        options: dict[str, Any] = {"language": language} if language else {}
        # Services go by the suffix of the name, so it is made from the content.
        file = (f"audio{kind.suffix}", data, kind.mime)

        def request(client: AsyncOpenAI, headers: Mapping[str, str]) -> Any:
            transcriptions = client.audio.transcriptions.with_streaming_response
            return transcriptions.create(
                model=endpoint.model, file=file, extra_headers=headers, **options
            )

        answer = await self._client.send(endpoint, request, MAX_TEXT_BYTES)
        try:
            text = json.loads(answer)["text"]
        except (ValueError, LookupError, TypeError, RecursionError):
            raise no_answer("a transcript", answer, endpoint) from None
        if not isinstance(text, str):
            raise no_answer("a transcript", answer, endpoint)
        return text.strip()

    def _read(self, path: Path) -> bytes:
        try:
            with path.open("rb") as stream:
                return read_bounded(stream, self._max_bytes, "the recording")
        except OSError as error:
            reason = error.strerror or error
            raise ToolError(f"The recording cannot be read: {reason}.") from None
