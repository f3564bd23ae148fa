"""Which address, key and model each service has.

:func:`endpoint` is the one rule: a service's own setting, else the plugin's, else the provider
``openai``. An address that is set never gets the key that belongs to another.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from hookline_hookspecs import ProviderSettings

from .config import MultimediaConfig

ServiceName: TypeAlias = Literal["image", "vision", "speech", "transcription"]
SERVICES: tuple[ServiceName, ...] = ("image", "vision", "speech", "transcription")
OPENAI = "https://api.openai.com/v1"
"""Where the openai SDK goes when nothing names an address."""
NO_KEY = "none"
"""Sent in place of a key to servers that need none; the SDK wants one."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a service is reached; ``setting`` is where its settings stand in ``config.yaml``."""

    service: ServiceName
    base_url: str
    api_key: str = field(repr=False)
    model: str
    setting: str


def endpoint(
    config: MultimediaConfig, service: ServiceName, openai: ProviderSettings
) -> Endpoint | None:
    """Where ``service`` is, or None: it is switched off, or OpenAI would be asked without a key.

    ``openai`` is how the provider of that name is reached.
    """
    own = getattr(config, service)
    if own is False:
        return None
    if own.base_url:
        address, key = own.base_url, own.api_key
    else:
        address, key = _shared(config, openai)
        key = own.api_key or key
    secret = key.get_secret_value().strip() if hasattr(key, "get_secret_value") else (key or "")
    if not secret and address.rstrip("/") == OPENAI:
        return None
    return Endpoint(service, address, secret or NO_KEY, own.model, f"plugins.multimedia.{service}")


def _shared(config: MultimediaConfig, openai: ProviderSettings) -> tuple[str, object]:
    """Address and key of the services that have none of their own."""
    if config.base_url:
        return config.base_url, config.api_key
    return openai.base_url or OPENAI, config.api_key or openai.api_key
