"""The provider's own settings, read from ``providers.NAME`` of the configuration."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

from hookline_providerkit import IDLE_TIMEOUT, RETRY_SECONDS, TOTAL_TIMEOUT, Limits
from pydantic import BaseModel, ConfigDict, Field, ValidationError


class Options(BaseModel):
    """Settings besides base URL, key and headers; unknown keys are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    stream: bool = True
    """Request a stream unless the request says otherwise."""
    api: Literal["chat", "responses"] = "chat"
    """``chat`` is ``/chat/completions``, ``responses`` is ``/responses``."""
    timeout: float | None = Field(None, gt=0, allow_inf_nan=False)
    """Seconds to wait for the next bytes; None is the SDK's default (600, and 5 to connect)."""
    total_timeout: float = Field(TOTAL_TIMEOUT, gt=0, allow_inf_nan=False)
    """Seconds for a request with its retries and its response."""
    max_retries: int | None = Field(None, ge=0)
    """How often a request that met a 408, 409, 429, 5xx or a lost connection is sent again; None
    only limits the time."""
    retry_seconds: float = Field(RETRY_SECONDS, ge=0, allow_inf_nan=False)
    """Seconds after its first failure during which such a request is sent again."""
    max_tokens_field: str = ""
    """Name of the output limit in the request; empty picks it by the server's address. If the
    server refuses it, the other name is sent."""
    reasoning_field: str | None = None
    """Field under which an assistant message with tool calls carries its reasoning back; empty
    sends none, None picks it by the server's address."""

    text_tool_calls: Literal["auto", "off"] = "auto"
    """``auto`` takes calls that a model wrote as text, where tools were offered and the server
    returned no calls; ``off`` leaves them text."""

    def limits(self) -> Limits:
        """Return the limits of a response."""
        return Limits(idle=self.timeout or IDLE_TIMEOUT, total=self.total_timeout)

    @classmethod
    def read(cls, provider: str, options: Mapping[str, Any]) -> Options:
        """The settings of ``provider``; None counts as not given.

        Raises:
            ValueError: a value is of the wrong type or out of range; the text names its key.
        """
        given = {key: value for key, value in options.items() if value is not None}
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            faults = error.errors(include_url=False, include_context=False)
            lines = [
                f"providers.{provider}.{fault['loc'][0]} is {fault['input']!r}: {fault['msg']}"
                for fault in faults
            ]
            raise ValueError("; ".join(lines)) from None


REASONING_HOSTS = ("deepseek.com", "moonshot.ai", "moonshot.cn", "xiaomimimo.com")
"""Servers that want ``reasoning_content`` back on every message with tool calls.

DeepSeek (api-docs.deepseek.com/guides/thinking_mode) and Moonshot answer 400 without it while
thinking is on, which is their default; Xiaomi recommends it. All others get it back with the
messages in which they sent it themselves.
"""


def max_tokens_field(options: Options, base_url: str | None) -> str:
    """Name of the output limit: OpenAI's newer models refuse what all others understand."""
    if options.max_tokens_field:
        return options.max_tokens_field
    return "max_completion_tokens" if _served_by(base_url, ("api.openai.com",)) else "max_tokens"


def reasoning_field(options: Options, base_url: str | None) -> str | None:
    """The field that carries reasoning back to the server; None for the one that it sent itself."""
    if options.reasoning_field is not None:
        return options.reasoning_field
    return "reasoning_content" if _served_by(base_url, REASONING_HOSTS) else None


def _served_by(base_url: str | None, hosts: tuple[str, ...]) -> bool:
    url = base_url or os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False  # the first request says what is wrong with it
    return any(host == known or host.endswith("." + known) for known in hosts)
