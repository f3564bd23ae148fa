"""The settings of the plugin, under ``plugins: budget:`` in ``config.yaml``."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, Field

DEFAULT_NETWORK_TOKENS = 2_000_000
"""Tokens a day for a chat on a network channel if no limit is set."""

TokenLimit: TypeAlias = Annotated[int, Field(ge=1)] | Literal["unlimited"] | None


class BudgetConfig(BaseModel):
    """Tokens per day; the README says what counts."""

    daily_tokens_per_chat: TokenLimit = Field(
        None,
        title="Daily tokens per chat",
        description=(
            "Tokens per day for one chat: a number, or unlimited. Default: 2,000,000 on network "
            "channels, unlimited in the terminal."
        ),
    )
    daily_tokens: TokenLimit = Field(
        None,
        title="Daily tokens in total",
        description="Tokens per day for all chats together: a number, or unlimited (default).",
    )

    def chat_limit(self, channel: str) -> int | None:
        """Tokens a day for a chat on ``channel``; None = unlimited. An empty ``channel`` means
        that the call belongs to no chat.
        """
        limit = self.daily_tokens_per_chat
        if limit is None and channel != "terminal":
            limit = DEFAULT_NETWORK_TOKENS
        return limit if isinstance(limit, int) and channel else None

    def total_limit(self) -> int | None:
        """Tokens a day for all chats together; None = unlimited."""
        return self.daily_tokens if isinstance(self.daily_tokens, int) else None
