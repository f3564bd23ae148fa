"""The settings of the plugin, under ``plugins: skills:`` in ``config.yaml``."""

from __future__ import annotations

from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, field_validator

TEAM_STORES = "`postgres` or a git repository: git+ssh://…, git+file:///… or git+https://…"


class SkillsConfig(BaseModel):
    """Limits on listing, matching, learning and archiving skills, and the team's store."""

    matches: int = Field(
        3,
        ge=0,
        title="Skills per message",
        description="Maximum number of skills added to one message.",
    )
    threshold: float = Field(
        0.18,
        ge=0,
        le=1,
        title="Minimum match score",
        description="Minimum score at which a skill matches a message, 0 to 1.",
    )
    budget_tokens: int = Field(
        16_000,
        ge=0,
        title="Skills per message (tokens)",
        description="Maximum tokens of all skills added to one message.",
    )
    index_max_chars: int = Field(
        4_000,
        ge=0,
        title="Skill list in the prompt (characters)",
        description="Maximum characters of the list of skills in the prompt.",
    )
    skill_max_chars: int = Field(
        24_000,
        ge=500,
        title="SKILL.md (characters)",
        description="Maximum characters of a SKILL.md written by the agent.",
    )
    max_agent_skills: int = Field(
        25,
        ge=1,
        title="Skills made by the agent",
        description="Maximum number of skills made by the agent.",
    )
    writers: Literal["everyone", "operator"] = Field(
        "operator",
        title="Who may cause new skills",
        description="Whose chats may lead the agent to write skills.",
    )
    allow_editing_hand_written: bool = Field(
        False,
        title="Edit hand-written skills",
        description="Allow the agent to change skills it did not make.",
    )
    archive_after_days: float = Field(
        30,
        gt=0,
        title="Archive unused skills after (days)",
        description="Days without use after which the agent's skills are archived.",
    )
    versions: int = Field(
        20, ge=1, title="Versions per skill", description="Versions kept of each skill."
    )
    team: str | None = Field(
        None,
        title="Team library",
        description=(
            "Where the team keeps its skills: `postgres` (the configured store) or `git+URL`."
        ),
    )
    trust: list[str] = Field(
        [],
        title="Trusted reviewers",
        description="Public keys of the reviewers whose approvals count.",
    )

    @field_validator("team")
    @classmethod
    def _check_store(cls, team: str | None) -> str | None:
        if team is None or team == "postgres":
            return team
        parts = urlsplit(team.removeprefix("git+"))
        if not team.startswith("git+") or parts.scheme not in ("ssh", "file", "https"):
            raise ValueError(f"unknown store {team[:80]!r}; write {TEAM_STORES}")
        if parts.password or parts.query or any(c.isspace() or not c.isprintable() for c in team):
            raise ValueError("write the repository's address without a password or a query")
        return team

    @field_validator("trust")
    @classmethod
    def _check_keys(cls, trust: list[str]) -> list[str]:
        for key in trust:
            if len(key) != 64 or not set(key) <= set("0123456789abcdef"):
                raise ValueError(
                    f"{key[:80]!r} is not a public key (64 hexadecimal digits); a reviewer prints "
                    "theirs with `hookline skills key`"
                )
        return trust
