"""Who turns speech into text and text into speech.

Offered with ``host.services.provide(Transcriber, …)`` by the plugin that can do it, looked up by
the one that needs it. Both fail with a ``HooklineError`` whose text is a sentence for people.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from .audio_kinds import AudioKind

if TYPE_CHECKING:
    from hookline_hookspecs import Attachment, Audio


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


class ReadAloud(Protocol):
    """Reads answers aloud; offered by the plugin ``voice``."""

    async def read_aloud(self, text: str, channel: str) -> Sequence[Audio | Attachment]:
        """Keep an answer, Markdown, as recordings in the form that suits a channel, and return
        them; none if there is nothing to say. Raises ``HooklineError`` with a sentence."""
