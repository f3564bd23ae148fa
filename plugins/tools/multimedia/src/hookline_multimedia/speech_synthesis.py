"""Turns text into speech: the service ``speech``.

:class:`SpeechSynthesizer` is the ``Speaker`` that other plugins find in ``host.services``; the
plugin ``voice`` uses it for spoken answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from hookline_hookspecs import BadRequest
from hookline_hookspecs.speech import Spoken, audio_kind

from .config import SpeechConfig
from .failures import no_answer
from .service_client import ServiceClient

if TYPE_CHECKING:
    from openai import AsyncOpenAI

MAX_SPEECH_BYTES = 100_000_000
"""Bytes of a recording that a service makes; a minute of WAV takes about 3,000,000."""


class SpeechSynthesizer:
    """Requests to the service ``speech``. ``config`` is False if it is switched off."""

    def __init__(self, client: ServiceClient, config: SpeechConfig | Literal[False]) -> None:
        self._client = client
        self._default_voice = config.voice if isinstance(config, SpeechConfig) else ""
        self._max_chars = config.max_chars if isinstance(config, SpeechConfig) else 0

    @property
    def max_chars(self) -> int:
        """Characters that one call of :meth:`speak` takes."""
        return self._max_chars

    async def speak(self, text: str, *, voice: str | None = None, format: str = "mp3") -> Spoken:  # noqa: A002
        """``text`` as a recording. Raises ``BadRequest`` if it is too long."""
        endpoint = self._client.require("speech")
        if len(text) > self.max_chars:
            raise BadRequest(
                f"The text has {len(text)} characters; at most {self.max_chars} are spoken at "
                "once. Shorten it, or speak it in parts."
            )
        response_format: Any = format

        def request(client: AsyncOpenAI, headers: Mapping[str, str]) -> Any:
            speech = client.audio.speech.with_streaming_response
            return speech.create(
                model=endpoint.model,
                input=text,
                voice=voice or self._default_voice,
                response_format=response_format,
                extra_headers=headers,
            )

        data = await self._client.send(endpoint, request, MAX_SPEECH_BYTES)
        kind = audio_kind(data)
        if kind is None:
            raise no_answer("a recording", data, endpoint)
        return Spoken(data, kind)
