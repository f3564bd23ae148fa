"""The settings of the plugin, under ``plugins: compaction:`` in ``config.yaml``."""

from __future__ import annotations

from pydantic import BaseModel, Field


class CompactionConfig(BaseModel):
    """When a conversation is shortened and what is kept of it. Shares are fractions of 1."""

    threshold: float = Field(
        0.5, gt=0, le=1, description="Share of the window at which a conversation is shortened."
    )
    threshold_small: float = Field(
        0.75, gt=0, le=1, description="The same for a window smaller than window_small."
    )
    window_small: int = Field(
        512_000, ge=0, description="Smaller windows, in tokens, use threshold_small."
    )
    keep_head: int = Field(
        2, ge=0, description="Messages at the beginning that are kept, if they are not too large."
    )
    tail_share: float = Field(
        0.25, gt=0, lt=1, description="Share of the threshold that the newest messages may fill."
    )
    enough_share: float = Field(
        0.75,
        gt=0,
        lt=1,
        description="Share of the threshold at which pruning old results is enough.",
    )
    prune_min_chars: int = Field(
        200, ge=200, description="Characters of a tool result that is too short to be pruned."
    )
    summary_max_tokens: int = Field(2_000, ge=100, description="Most tokens of a summary.")
    summary_timeout: float = Field(
        90.0, gt=0, le=110, description="Seconds after which the summaries of a pass have failed."
    )
    ineffective_share: float = Field(
        0.1, gt=0, lt=1, description="A pass that frees a smaller share than this is ineffective."
    )
    ineffective_passes: int = Field(
        2, ge=1, description="Ineffective passes in a row that stop automatic compaction."
    )
    message_share: float = Field(
        0.25, gt=0, lt=1, description="Share of the window above which a single text is cut."
    )
    message_share_tight: float = Field(
        0.05,
        gt=0,
        lt=1,
        description="The same once the provider has reported a request as too long.",
    )
