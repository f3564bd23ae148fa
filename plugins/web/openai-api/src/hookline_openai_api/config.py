"""The settings."""

from __future__ import annotations

from pydantic import BaseModel, Field


class OpenAIApiConfig(BaseModel):
    """What clients may send, and for how long their answers are kept."""

    session_headers: list[str] = Field(
        default=["X-OpenWebUI-Chat-Id", "X-LibreChat-Conversation-Id"],
        description="Headers in which clients name the chat that a request belongs to.",
    )
    keep_days: float = Field(
        default=30.0, gt=0, le=3650, description="Days that responses and chats can be continued."
    )
    max_bytes: int = Field(
        default=40_000_000,
        ge=1000,
        le=200_000_000,
        description="Bytes of the largest request; a file in it takes four bytes for three.",
    )
    max_file_bytes: int = Field(
        default=25_000_000, ge=1, le=100_000_000, description="Bytes of the largest file."
    )
