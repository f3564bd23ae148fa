"""The settings of the shell plugin."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Literal

from pydantic import BaseModel, Field, field_validator, model_validator


def default_patterns() -> list[str]:
    """The packaged ``dangerous_patterns``."""
    import yaml

    text = files(__package__).joinpath("data", "dangerous_patterns.yaml").read_text("utf-8")
    return list(yaml.load(text, Loader=yaml.CSafeLoader))


class LimitsConfig(BaseModel):
    """Settings under ``sandbox: {limits: …}``, for each process unless noted."""

    processes: int = Field(512, ge=8)
    """Concurrent processes and threads of one command."""
    memory_mb: int = Field(4_096, ge=64)
    """MiB of data."""
    file_mb: int = Field(2_048, ge=1)
    """MiB of the largest file that can be written."""
    cpu_seconds: int = Field(3_600, ge=1)
    """Seconds of CPU time."""
    private_mb: int = Field(2_048, ge=16)
    """MiB that the private ``/tmp`` and home of a session keep between commands."""


class SandboxConfig(BaseModel):
    """Settings under ``sandbox:``. Paths may begin with ``~``."""

    enabled: Literal["auto"] | bool = "auto"
    """Sandbox every command, and refuse without a sandbox (true); none (false); or every command
    where a sandbox works, and without one those of others only with an approval each (auto)."""
    network: Literal["auto", "none", "guarded"] = "auto"
    """Sandboxed commands reach hosts that a rule or a person allows, through a proxy (guarded or
    true), nothing (none or false), or the proxy only for the operator and admins (auto)."""
    read_only: list[str] = Field(default_factory=list)
    """Folders that commands see besides the system, installed programs and the workspace."""
    writable: list[str] = Field(default_factory=list)
    """Folders that commands may also write to."""
    limits: LimitsConfig = LimitsConfig()  # type: ignore[call-arg]
    """Limits of a command."""

    @field_validator("network", mode="before")
    @classmethod
    def _from_bool(cls, value: object) -> object:
        return {True: "guarded", False: "none"}.get(value) if isinstance(value, bool) else value


class ShellConfig(BaseModel):
    """Settings under ``plugins: {shell: …}``. Times are in seconds, sizes in characters."""

    timeout: float = Field(
        120,
        gt=0,
        title="Command timeout (seconds)",
        description="How long a command may run by default.",
    )
    max_timeout: float = Field(
        600,
        gt=0,
        title="Longest command timeout (seconds)",
        description="Longest timeout of a call.",
    )
    max_output: int = Field(
        1_000_000,
        ge=1_000,
        title="Output kept (characters)",
        description=(
            "Characters of output that are kept, half from the start and half from the end."
        ),
    )
    env_allow: list[str] = Field(
        default_factory=list,
        title="Environment variables",
        description="Variables that commands see besides those of the packaged list.",
    )
    dangerous_patterns: list[str] = Field(
        default_factory=default_patterns,
        title="Dangerous commands",
        description="Regular expressions; a command in which one matches needs approval.",
    )
    sandbox: SandboxConfig = Field(
        default_factory=SandboxConfig,
        title="Sandbox",
        description="Whether and how commands are sandboxed.",
    )

    @field_validator("dangerous_patterns")
    @classmethod
    def _check_patterns(cls, patterns: list[str]) -> list[str]:
        for number, pattern in enumerate(patterns, 1):
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(
                    f"dangerous_patterns, entry {number}, {pattern!r} is not a valid regular "
                    f"expression: {error}; correct or remove it"
                ) from None
        return patterns

    @model_validator(mode="after")
    def _check_timeouts(self) -> ShellConfig:
        if self.timeout > self.max_timeout:
            raise ValueError(
                f"timeout ({self.timeout:g} s) is longer than max_timeout "
                f"({self.max_timeout:g} s); raise max_timeout or lower timeout"
            )
        return self
