"""The contract of every plugin."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from hookline.testing import PluginContract
from hookline_hookspecs import ToolError
from hookline_hookspecs.speech import Transcriber
from hookline_voice import Voice


class Deaf:
    """Hears nothing in any recording."""

    async def transcribe(self, path: Path, *, language: str | None = None) -> str:
        """Refuse."""
        raise ToolError(f"there is nothing to hear in {path.name}")


class TestVoiceContract(PluginContract):
    plugin = Voice


class TestRoundTripContract(PluginContract):
    plugin = Voice
    config: ClassVar = {"round_trip": True}
    services: ClassVar = {Transcriber: Deaf()}
