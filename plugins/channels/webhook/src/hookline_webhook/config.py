"""Settings under ``plugins.webhook`` in ``config.yaml``."""

from __future__ import annotations

from urllib.parse import urlsplit

from hookline_webkit.address import parse_address
from pydantic import BaseModel, Field, SecretStr, field_validator

MIN_SECRET_CHARS = 16
"""A shorter secret can be guessed from one signed body."""


class WebhookConfig(BaseModel):
    """Where to listen, the shared secret, and where to send replies."""

    listen: str | None = Field(
        default="127.0.0.1:8765",
        title="Listen address",
        description=(
            "host:port to listen on for POST /webhook; null: the plugin web-server serves it."
        ),
    )
    secret: SecretStr = Field(
        default=SecretStr(""),
        title="Signing secret",
        description=f"Signs bodies both ways; at least {MIN_SECRET_CHARS} characters.",
        json_schema_extra={"env": "HOOKLINE_WEBHOOK_SECRET", "generate": True},
    )
    reply_url: str | None = Field(
        default=None,
        title="Reply address",
        description="Address that replies are sent to by POST; null: they are only stored.",
    )
    max_bytes: int = Field(
        default=1_000_000,
        ge=1,
        title="Message size (bytes)",
        description="Maximum size of a message.",
    )
    timeout: float = Field(
        default=30.0,
        gt=0,
        title="Sending timeout (seconds)",
        description="Maximum seconds for sending one reply.",
    )

    @field_validator("listen")
    @classmethod
    def _can_be_listened_on(cls, listen: str | None) -> str | None:
        if listen is not None:
            parse_address(listen)
        return listen

    @field_validator("reply_url")
    @classmethod
    def _can_be_posted_to(cls, url: str | None) -> str | None:
        if url is None:
            return None
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("not a URL; example: https://example.org/replies")
        return url

    def secret_error(self) -> str | None:
        """Return why the secret cannot be used, as a sentence; None if it can."""
        length = len(self.secret.get_secret_value())
        if length >= MIN_SECRET_CHARS:
            return None
        what = f"has {length} characters" if length else "is missing"
        return (
            f"webhook.secret {what}; it needs at least {MIN_SECRET_CHARS} characters. Put "
            "HOOKLINE_WEBHOOK_SECRET=… into .env (`openssl rand -hex 32` makes one) and write "
            'secret: "${HOOKLINE_WEBHOOK_SECRET}"'
        )
