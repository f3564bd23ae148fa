"""The settings of the plugin, under ``plugins: budget:`` in ``config.yaml``."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, Field

NETWORK_TOKENS = 2_000_000
"""Tokens a day that a chat of a network channel has where nothing is set (FEATURES, budget)."""

Cap: TypeAlias = Annotated[int, Field(ge=1)] | Literal["unlimited"] | None


class BudgetConfig(BaseModel):
    """Tokens per day; see the README for what counts."""

    daily_tokens_per_chat: Cap = Field(
        None,
        description="Tokens a day of one chat: a number, or unlimited. Left out: 2,000,000 on "
        "network channels, unlimited in the terminal.",
    )
    daily_tokens: Cap = Field(
        None, description="Tokens a day of all chats together: a number, or unlimited (default)."
    )

    def of_chat(self, channel: str) -> int | None:
        """The cap of a chat of ``channel``; None is unlimited. Without a channel there is no
        chat."""
        cap = self.daily_tokens_per_chat
        if cap is None and channel != "terminal":
            cap = NETWORK_TOKENS
        return cap if isinstance(cap, int) and channel else None

    def of_all(self) -> int | None:
        """The cap of all chats together; None is unlimited."""
        return self.daily_tokens if isinstance(self.daily_tokens, int) else None
