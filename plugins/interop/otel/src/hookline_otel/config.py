"""The settings of the plugin, under ``plugins: otel:`` in ``config.yaml``."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field, field_validator


class OtelConfig(BaseModel):
    """Where telemetry goes, under which names, and with which content."""

    endpoint: str = Field(
        "http://127.0.0.1:4318",
        pattern=r"^https?://[^/\s?#]+[^\s?#]*$",
        title="Collector address",
        description="Address of an OTLP/HTTP collector, without /v1/traces and /v1/metrics.",
    )
    semconv: Literal["latest", "1.41", "both"] = Field(
        "latest",
        title="Naming conventions",
        description="Version of the GenAI naming conventions to use.",
    )
    content: bool = Field(
        False,
        title="Send contents",
        description="Also send prompts, answers, arguments and results, without secrets.",
    )

    @field_validator("semconv", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        """YAML reads an unquoted 1.41 as a number."""
        return str(value) if isinstance(value, float) else value

    def url(self, signal: str) -> str:
        """Return the URL for ``traces`` or ``metrics``."""
        return f"{self.endpoint.rstrip('/')}/v1/{signal}"
