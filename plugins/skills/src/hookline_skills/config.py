"""The settings of the plugin, under ``plugins: skills:`` in ``config.yaml``."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field


class SkillsConfig(BaseModel):
    """What is shown, injected, learnt and archived."""

    matches: int = Field(3, ge=0, description="Most skills that are injected for one message.")
    threshold: float = Field(
        0.18, ge=0, le=1, description="How well a skill must fit a message to be injected, 0 to 1."
    )
    budget_tokens: int = Field(
        16_000, ge=0, description="Tokens of the skills injected for one message together."
    )
    index_max_chars: int = Field(
        4_000, ge=0, description="Characters of the list of skills in the stable prompt."
    )
    skill_max_chars: int = Field(
        24_000, ge=500, description="Characters of a SKILL.md that the agent writes."
    )
    max_agent_skills: int = Field(
        25, ge=1, description="Skills the agent may have made; then it must patch or delete."
    )
    writers: Literal["everyone", "operator"] = Field(
        "operator", description="In whose chats the agent may write skills."
    )
    allow_editing_hand_written: bool = Field(
        False, description="Let the agent change skills that it has not made."
    )
    archive_after_days: float = Field(
        30, gt=0, description="Days without use after which a skill the agent made is archived."
    )
    versions: int = Field(20, ge=1, description="Versions of each skill that are kept.")
