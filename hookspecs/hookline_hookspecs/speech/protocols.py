"""Services that convert speech to text and text to speech.

A plugin provides them with ``host.services.provide(Transcriber, …)``. Both fail with a
``HooklineError`` whose text is a sentence for people.
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
    """A recording; ``kind`` is its actual type, which may differ from the requested one."""

    data: bytes
    kind: AudioKind


class Transcriber(Protocol):
    """Converts a recording to text."""

    async def transcribe(self, path: Path, *, language: str | None = None) -> str:
        """Return the words in the file at ``path``; empty if there are none.

        The caller has checked the path; type and size are checked by content. ``language`` is an
        ISO 639-1 code such as ``de``; with None the service detects the language.
        """


class Speaker(Protocol):
    """Converts text to a recording."""

    @property
    def max_chars(self) -> int:
        """Maximum number of characters per call."""

    async def speak(self, text: str, *, voice: str | None = None, format: str = "mp3") -> Spoken:  # noqa: A002
        """Read ``text`` aloud.

        ``format`` is the name of an :class:`AudioKind`; a service that does not support it raises
        ``BadRequest``. With ``voice`` None, the service's default voice is used.
        """


class ReadAloud(Protocol):
    """Reads answers aloud; provided by the plugin ``voice``."""

    async def read_aloud(self, text: str, channel: str) -> Sequence[Audio | Attachment]:
        """Record an answer (Markdown) in a form that suits the channel, and return the recordings.

        Empty if there is nothing to say. Raises ``HooklineError`` with a sentence.
        """
