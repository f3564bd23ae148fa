"""The settings of the plugin, under ``plugins: bundles:`` in ``config.yaml``."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from .hook_files import MAX_TIMEOUT

HookEvent = Literal[
    "pre_tool",
    "post_tool",
    "pre_prompt",
    "start_of_session",
    "end_of_session",
    "end_of_turn",
    "end_of_agent",
    "pre_compact",
    "question_opened",
    "on_question",
]


class HookConfig(BaseModel):
    """A program that is run at an event."""

    model_config = ConfigDict(extra="forbid")

    run: str = Field(min_length=1, description="The command to run.")
    match: str = Field(
        "", description="The calls it applies to, such as `bash` or `bash(git push*)`."
    )
    timeout: float = Field(10.0, gt=0, le=MAX_TIMEOUT, description="Maximum seconds it may take.")
    sandbox: bool = Field(True, description="Run it in the sandbox, if there is one.")


class BundlesConfig(BaseModel):
    """Which bundles are used, and hooks of the person's own."""

    hooks: dict[HookEvent, list[HookConfig]] = Field(
        {}, title="Event commands", description="Commands to run at an event, by the event's name."
    )
    projects: bool = Field(
        True,
        title="Use project folders",
        description="Use `.claude`, `.agents`, `.codex` and `.hookline` in trusted folders.",
    )
    off: list[str] = Field(
        [], title="Unused bundles", description="Bundles to leave unused, by name."
    )
    models: dict[str, str] = Field(
        {},
        title="Model names",
        description="Your `provider/model` for names that bundles use, such as `haiku` or `opus`.",
    )
    max_agent_lines: int = Field(
        12,
        ge=0,
        title="Sub-agents listed for the model",
        description="Maximum sub-agents listed for the model, one line each.",
    )
