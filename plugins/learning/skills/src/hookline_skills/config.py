"""The settings of the plugin, under ``plugins: skills:`` in ``config.yaml``."""

from __future__ import annotations

from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, field_validator

TEAM = "`postgres` or the address of a git repository, git+ssh://…, git+file:///… or git+https://…"


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
    team: str | None = Field(
        None,
        description="Where the team's skills are: `postgres` (the configured store) or `git+URL`.",
    )
    trust: list[str] = Field(
        [], description="Public keys of the team's reviewers; what others sign is not loaded."
    )

    @field_validator("team")
    @classmethod
    def _names_a_store(cls, team: str | None) -> str | None:
        if team is None or team == "postgres":
            return team
        parts = urlsplit(team.removeprefix("git+"))
        if not team.startswith("git+") or parts.scheme not in ("ssh", "file", "https"):
            raise ValueError(f"{team[:80]!r} is no store; write {TEAM}")
        if parts.password or parts.query or any(c.isspace() or not c.isprintable() for c in team):
            raise ValueError("write the address of the repository without a password or a query")
        return team

    @field_validator("trust")
    @classmethod
    def _are_keys(cls, trust: list[str]) -> list[str]:
        for key in trust:
            if len(key) != 64 or not set(key) <= set("0123456789abcdef"):
                raise ValueError(
                    f"{key[:80]!r} is no public key; `hookline skills key` prints a reviewer's, 64 "
                    "hexadecimal digits"
                )
        return trust
