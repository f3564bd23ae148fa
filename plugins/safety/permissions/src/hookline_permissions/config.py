"""The settings of the plugin."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field, field_validator


class PermissionsConfig(BaseModel):
    """Settings under ``plugins: {permissions: …}``."""

    mode: Literal["ask", "auto", "plan"] = Field(
        default="auto", title="Mode of new sessions", description="Mode of new sessions."
    )

    allow: list[str] = Field(
        default_factory=list,
        title="Always allow",
        description="Rules for calls that run without asking.",
    )
    ask: list[str] = Field(
        default_factory=list,
        title="Always ask",
        description="Rules for calls that need your approval.",
    )
    deny: list[str] = Field(
        default_factory=list,
        title="Always deny",
        description="Rules for calls that are always denied.",
    )

    @field_validator("mode", mode="before")
    @classmethod
    def _not_yolo(cls, value: object) -> object:
        if value == "yolo":
            raise ValueError(
                "yolo is chosen for one process, by `hookline chat --mode yolo` or `hookline run "
                "--mode yolo`, and never by a setting; write ask, auto or plan"
            )
        return value
