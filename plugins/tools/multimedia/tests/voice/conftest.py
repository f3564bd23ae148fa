"""A speech service, and a person who sends voice messages.

``data/`` holds half a second of a 440 Hz tone, written by PyAV.
"""

from __future__ import annotations

import asyncio
import io
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import FakeChannel, Harness
from hookline_hookspecs import (
    Attachment,
    Audio,
    BadRequest,
    Host,
    Inbound,
    Notice,
    Plugin,
    Reply,
    ToolError,
    hookimpl,
)
from hookline_hookspecs.plugin import NoConfig
from hookline_hookspecs.speech import KINDS, Speaker, Spoken, Transcriber, audio_kind
from hookline_voice import Voice

DATA = Path(__file__).parent / "data"


def make_wav(seconds: float = 0.5, rate: int = 8000) -> bytes:
    """Silence."""
    made = io.BytesIO()
    with wave.open(made, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(b"\0\0" * int(seconds * rate))
    return made.getvalue()


RECORDINGS = {
    "opus": (DATA / "tone.opus").read_bytes(),
    "mp3": (DATA / "tone.mp3").read_bytes(),
    "wav": make_wav(),
}


class Speech(Plugin[NoConfig]):
    """Offers a service that hears ``words`` in every recording and speaks in ``formats``."""

    max_chars = 4096

    def __init__(self, config: NoConfig, host: Host) -> None:
        super().__init__(config, host)
        self.words = "turn on the lamp"
        self.formats = {"opus", "mp3", "wav"}
        self.heard: list[tuple[bytes, str | None]] = []
        self.said: list[tuple[str, str | None, str]] = []
        self.fault: Exception | None = None
        self.silent = False

    @hookimpl
    def setup(self, host: Host) -> None:
        host.services.provide(Transcriber, self)
        host.services.provide(Speaker, self)

    async def transcribe(self, path: Path, *, language: str | None = None) -> str:
        await self._trouble()
        data = path.read_bytes()
        if audio_kind(data) is None:
            raise ToolError("The recording is of no type that can be transcribed.")
        self.heard.append((data, language))
        return self.words

    async def speak(self, text: str, *, voice: str | None = None, format: str = "mp3") -> Spoken:  # noqa: A002
        await self._trouble()
        if not 1 <= len(text) <= self.max_chars:
            raise BadRequest(f"{len(text)} characters are not spoken")
        if format not in self.formats:
            raise BadRequest(f"there is no format {format}")
        self.said.append((text, voice, format))
        return Spoken(RECORDINGS[format], KINDS[format])

    async def _trouble(self) -> None:
        if self.silent:
            await asyncio.Event().wait()
        if self.fault is not None:
            raise self.fault


class Call:
    """A person on a channel who sends voice messages."""

    def __init__(
        self,
        make: Callable[..., Harness],
        folder: Path,
        *plugins: Any,
        on: str = "fake",
        **more: Any,
    ) -> None:
        self.harness = make(*plugins, Voice, config={"voice": more})
        self.folder = folder
        runtime = self.harness.runtime
        self.channel = self.harness.channel
        if on != "fake":
            self.channel = FakeChannel(runtime)
            self.channel.name = on
            runtime.channels.register(self.channel, "person")

    @property
    def speech(self) -> Speech:
        """The speech service."""
        return self.harness.plugin(Speech)

    def recording(self, data: bytes = RECORDINGS["opus"], seconds: float = 0.5) -> Audio:
        """A voice message as a channel saves it."""
        path = self.folder / f"voice-{len(list(self.folder.iterdir()))}.oga"
        path.write_bytes(data)
        return Audio(path, "audio/ogg", seconds, origins=())

    def say(
        self, *attachments: Audio | Attachment, answer: str = "The lamp is on.", text: str = ""
    ) -> Reply:
        """The reply that is delivered for a message."""
        self.harness.model.steps[:] = [answer]
        number = len(self.channel.sent) + 1
        inbound = Inbound(self.channel.name, "chat", "user", f"m{number}", text, attachments)

        async def exchange() -> Reply:
            await self.harness.runtime.dispatcher.receive(inbound)
            return (await self.channel.replies(number, seconds=60))[-1]

        return self.harness.run(exchange())

    @property
    def asked(self) -> str:
        """The text of the newest message as the model saw it."""
        return self.harness.model.last.messages[-1].text

    @property
    def notices(self) -> list[str]:
        """The plugin's notices to the person."""
        told: list[Notice] = self.harness.notices
        return [notice.text for notice in told if notice.plugin == "voice"]


@pytest.fixture
def make_voice_chat(harness: Callable[..., Harness], tmp_path: Path) -> Callable[..., Call]:
    """Makes calls; keywords are settings of the plugin, ``on`` is the channel's name."""
    (tmp_path / "inbox").mkdir()

    def make(*plugins: Any, **more: Any) -> Call:
        return Call(harness, tmp_path / "inbox", *(plugins or (Speech,)), **more)

    return make


@pytest.fixture
def recordings() -> dict[str, bytes]:
    """The service's audio by format."""
    return RECORDINGS


@pytest.fixture
def speech() -> type[Speech]:
    """The plugin that hears and speaks."""
    return Speech
