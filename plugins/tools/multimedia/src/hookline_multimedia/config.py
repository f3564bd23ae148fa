"""Settings, under ``plugins: multimedia:`` in ``config.yaml``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, StringConstraints

BaseUrl = Annotated[str, StringConstraints(pattern=r"^https?://[^/\s]+")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200, strip_whitespace=True)]
Bytes = Annotated[int, Field(ge=1_000)]


class _Settings(BaseModel):
    model_config = ConfigDict(use_attribute_docstrings=True)


class ServiceConfig(_Settings):
    """Address and key of one of the four services; null: those of the plugin."""

    base_url: BaseUrl | None = None
    """Its address, such as http://host:8000/v1."""
    api_key: SecretStr | None = None
    """Its key. A service with its own address does not get another's key."""


class ImageConfig(ServiceConfig):
    """The service that makes pictures: ``POST /images/generations``."""

    model: Name = "gpt-image-2.5-flare"
    """Model that makes pictures."""


class VisionConfig(ServiceConfig):
    """The service that describes pictures: ``POST /chat/completions`` with a picture."""

    model: Name = "gpt-5-mini"
    """Model that looks at pictures."""


class SpeechConfig(ServiceConfig):
    """The service that reads text aloud: ``POST /audio/speech``."""

    model: Name = "gpt-4o-mini-tts"
    """Model that speaks."""
    voice: Name = "alloy"
    """Default voice."""
    max_chars: Annotated[int, Field(ge=50)] = 4096
    """Characters that one request speaks at most."""


class TranscriptionConfig(ServiceConfig):
    """The service that transcribes recordings: ``POST /audio/transcriptions``."""

    model: Name = "gpt-transcribe"
    """Model that transcribes."""


class MultimediaConfig(_Settings):
    """The services, and what may be read and sent to them."""

    base_url: BaseUrl | None = Field(None, title="Service address")
    """Address of every service without its own; null: the provider openai's."""
    api_key: SecretStr | None = Field(None, title="API key")
    """Key of every service there; null: the provider openai's, if base_url is null too."""
    image: ImageConfig | Literal[False] = Field(ImageConfig(), title="Image generation")
    """The service that makes pictures; false: none."""
    vision: VisionConfig | Literal[False] = Field(VisionConfig(), title="Image description")
    """The service that describes pictures; false: none."""
    speech: SpeechConfig | Literal[False] = Field(SpeechConfig(), title="Text to speech")
    """The service that reads text aloud; false: none."""
    transcription: TranscriptionConfig | Literal[False] = Field(
        TranscriptionConfig(), title="Transcription"
    )
    """The service that transcribes recordings; false: none."""
    allowed_read_dirs: list[Path] = Field([], title="More readable folders")
    """Folders outside the workspace whose pictures and recordings may be read."""
    max_image_bytes: Bytes = Field(20_000_000, title="Picture size (bytes)")
    """Bytes of a picture at most."""
    max_audio_bytes: Bytes = Field(25_000_000, title="Recording size (bytes)")
    """Bytes of a recording at most."""
    timeout: Annotated[float, Field(gt=0, le=600)] = Field(120.0, title="Request timeout (seconds)")
    """Seconds for one request, repeats included."""
    max_retries: Annotated[int, Field(ge=0, le=10)] = Field(2, title="Retries")
    """Repeats after 408, 409, 429, 5xx or a lost connection."""
    keep_days: Annotated[float, Field(gt=0)] = Field(30.0, title="Keep generated files (days)")
    """Days after which files that were made are deleted."""
