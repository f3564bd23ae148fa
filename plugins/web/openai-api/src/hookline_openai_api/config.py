"""The settings under ``plugins: openai-api:``."""

from __future__ import annotations

from pydantic import BaseModel, Field


class OpenAIApiConfig(BaseModel):
    """What clients may send, and how long answers are stored."""

    session_headers: list[str] = Field(
        default=["X-OpenWebUI-Chat-Id", "X-LibreChat-Conversation-Id"],
        title="Chat ID headers",
        description="Headers in which clients send the id of the chat.",
    )
    keep_days: float = Field(
        default=30.0,
        gt=0,
        le=3650,
        title="Retention (days)",
        description="Days for which responses and chats can be continued.",
    )
    max_bytes: int = Field(
        default=40_000_000,
        ge=1000,
        le=200_000_000,
        title="Request size (bytes)",
        description="Maximum bytes of a request; base64 makes files in it a third larger.",
    )
    max_file_bytes: int = Field(
        default=25_000_000,
        ge=1,
        le=100_000_000,
        title="File size (bytes)",
        description="Maximum bytes of a file.",
    )
