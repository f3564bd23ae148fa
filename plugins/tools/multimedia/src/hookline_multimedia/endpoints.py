"""The address, key and model of each service.

They come from the service's own setting, else the plugin's, else the provider ``openai``. An
address never gets a key that was set for another.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from hookline_hookspecs import ProviderSettings
from pydantic import SecretStr

from .config import MultimediaConfig

ServiceName: TypeAlias = Literal["image", "vision", "speech", "transcription"]
SERVICES: tuple[ServiceName, ...] = ("image", "vision", "speech", "transcription")
OPENAI_URL = "https://api.openai.com/v1"
"""The default address of the openai SDK."""
NO_KEY = "none"
"""The key sent to servers that need none; the SDK requires one."""


@dataclass(frozen=True, slots=True)
class ServiceEndpoint:
    """How a service is reached. ``setting`` is the path of its settings in ``config.yaml``."""

    service: ServiceName
    base_url: str
    api_key: str = field(repr=False)
    model: str
    setting: str


def resolve_endpoint(
    config: MultimediaConfig, service: ServiceName, openai: ProviderSettings
) -> ServiceEndpoint | None:
    """The endpoint of ``service``. None if it is switched off, or is OpenAI without a key.

    ``openai`` has the settings of the provider of that name.
    """
    own = getattr(config, service)
    if own is False:
        return None
    if own.base_url:
        address, key = own.base_url, own.api_key
    else:
        address, key = _shared_endpoint(config, openai)
        key = own.api_key or key
    secret = key.get_secret_value().strip() if isinstance(key, SecretStr) else (key or "")
    if not secret and address.rstrip("/") == OPENAI_URL:
        return None
    setting = f"plugins.multimedia.{service}"
    return ServiceEndpoint(service, address, secret or NO_KEY, own.model, setting)


def _shared_endpoint(
    config: MultimediaConfig, openai: ProviderSettings
) -> tuple[str, SecretStr | str | None]:
    """Address and key of the services without their own."""
    if config.base_url:
        return config.base_url, config.api_key
    return openai.base_url or OPENAI_URL, config.api_key or openai.api_key
