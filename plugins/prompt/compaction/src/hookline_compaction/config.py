"""The settings of the plugin, under ``plugins: compaction:`` in ``config.yaml``."""

from __future__ import annotations

from pydantic import BaseModel, Field


class CompactionConfig(BaseModel):
    """When a conversation is shortened and what is kept of it. Shares are fractions of 1."""

    threshold: float = Field(
        0.5,
        gt=0,
        le=1,
        title="Threshold",
        description="Share of the context window at which a conversation is shortened.",
    )
    threshold_small: float = Field(
        0.75,
        gt=0,
        le=1,
        title="Threshold for small windows",
        description="The same, for a window smaller than window_small.",
    )
    window_small: int = Field(
        512_000,
        ge=0,
        title="Small window (tokens)",
        description="Windows with fewer tokens than this use threshold_small.",
    )
    keep_head: int = Field(
        2,
        ge=0,
        title="First messages kept",
        description="Messages kept at the beginning, unless they are too large.",
    )
    tail_share: float = Field(
        0.25,
        gt=0,
        lt=1,
        title="Share of the newest messages",
        description="Share of the threshold that the newest messages may fill.",
    )
    enough_share: float = Field(
        0.75,
        gt=0,
        lt=1,
        title="No summary below (share of the threshold)",
        description=(
            "If old tool results, shortened, bring it below this share of the threshold, no "
            "summary is made."
        ),
    )
    prune_min_chars: int = Field(
        200,
        ge=200,
        title="Shortest result to shorten (characters)",
        description="Tool results with fewer characters than this are never shortened.",
    )
    summary_max_tokens: int = Field(
        2_000, ge=100, title="Summary length (tokens)", description="Maximum tokens of a summary."
    )
    summary_timeout: float = Field(
        90.0,
        gt=0,
        le=110,
        title="Summary timeout (seconds)",
        description="Seconds after which summarising is given up.",
    )
    ineffective_share: float = Field(
        0.1,
        gt=0,
        lt=1,
        title="Minimum share freed",
        description="Shortening that frees a smaller share than this counts as ineffective.",
    )
    ineffective_passes: int = Field(
        2,
        ge=1,
        title="Ineffective attempts before stopping",
        description=(
            "After this many ineffective attempts in a row, nothing is shortened automatically any"
            " more."
        ),
    )
    message_share: float = Field(
        0.25,
        gt=0,
        lt=1,
        title="Longest text (share of the window)",
        description="Share of the context window above which a single text is cut.",
    )
    message_share_tight: float = Field(
        0.05,
        gt=0,
        lt=1,
        title="Longest text after a refusal",
        description="The same, once the provider has refused a request as too long.",
    )
