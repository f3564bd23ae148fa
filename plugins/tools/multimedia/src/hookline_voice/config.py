"""Settings, under ``plugins: voice:`` in ``config.yaml``."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from .native_forms import NativeForm

Seconds = Annotated[float, Field(gt=0, le=115)]
"""Core allows both hooks 120 s; the plugin has to stop a little earlier."""


class VoiceConfig(BaseModel):
    """How voice messages are transcribed and answered."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    round_trip: bool = Field(False, title="Answer voice with voice")
    """Answer a voice message with voice too."""
    language: Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}$")] | None = Field(
        None, title="Language"
    )
    """Language of voice messages, such as en; null: the service detects it."""
    voice: str | None = Field(None, title="Voice")
    """Voice of the answers; null: the service's default."""
    max_chars: Annotated[int, Field(ge=50)] = Field(2_000, title="Spoken length (characters)")
    """Characters of an answer that are spoken at most; the text of the reply is not cut."""
    rest: str = Field("The rest is in the text.", title="Closing words of a cut answer")
    """Said at the end of an answer that is not spoken whole."""
    timeout: Seconds = Field(110.0, title="Timeout (seconds)")
    """Seconds to transcribe a message, and seconds to speak an answer."""
    keep_days: Annotated[float, Field(gt=0)] = Field(30.0, title="Keep recordings (days)")
    """Days after which recordings of answers are deleted."""
    channels: dict[str, NativeForm] = Field({}, title="Formats by channel")
    """Format and form of recordings by channel; overrides the plugin's table."""
