"""Who turns speech into text and text into speech.

Offered with ``host.services.provide(Transcriber, …)`` by the plugin that can do it, looked up by
the one that needs it. Both fail with a ``HooklineError`` whose text is a sentence for people.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from .kinds import AudioKind


@dataclass(frozen=True, slots=True)
class Spoken:
    """A recording; ``kind`` is what its content is, which may not be what was asked for."""

    data: bytes
    kind: AudioKind


class Transcriber(Protocol):
    """Turns a recording into text."""

    async def transcribe(self, path: Path, *, language: str | None = None) -> str:
        """The words in the file at ``path``, empty if there are none.

        The caller vouches for the path; type and size are judged by content. ``language`` is an
        ISO 639-1 code such as ``de``; None lets the service find out.
        """


class Speaker(Protocol):
    """Turns text into a recording."""

    @property
    def max_chars(self) -> int:
        """Characters that one call takes."""

    async def speak(self, text: str, *, voice: str | None = None, format: str = "mp3") -> Spoken:  # noqa: A002
        """``text``, read aloud. ``format`` is the name of an :class:`AudioKind`; a service that
        does not have it raises ``BadRequest``. ``voice`` None: the service's default."""
