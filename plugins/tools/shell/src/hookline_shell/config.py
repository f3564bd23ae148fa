"""The settings of the shell plugin."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Literal

from pydantic import BaseModel, Field, field_validator, model_validator


def default_patterns() -> list[str]:
    """The packaged ``dangerous_patterns``."""
    import yaml

    text = files(__package__).joinpath("judge", "data", "patterns.yaml").read_text("utf-8")
    return list(yaml.load(text, Loader=yaml.CSafeLoader))


class LimitsConfig(BaseModel):
    """Settings under ``sandbox: {limits: …}``, for each process unless it says otherwise."""

    processes: int = Field(512, ge=8)
    """Processes and threads of one command at once."""
    memory_mb: int = Field(4_096, ge=64)
    """MiB of data."""
    file_mb: int = Field(2_048, ge=1)
    """MiB of the largest file that can be written."""
    cpu_seconds: int = Field(3_600, ge=1)
    """Seconds of computing."""
    private_mb: int = Field(2_048, ge=16)
    """MiB that a session's private ``/tmp`` and home keep from one command to the next."""


class SandboxConfig(BaseModel):
    """Settings under ``sandbox:``. Paths may begin with ``~``."""

    enabled: Literal["auto"] | bool = "auto"
    """Sandbox every command (true), none (false), or all but those that the terminal's operator
    asks for in person."""
    network: Literal["auto", "none", "guarded"] = "auto"
    """Let sandboxed commands reach public addresses through a proxy (guarded; true means the
    same), nothing (none, false), or the former for the operator and admins alone."""
    read_only: list[str] = Field(default_factory=list)
    """Folders that commands see beside the system, installed programs and the workspace."""
    writable: list[str] = Field(default_factory=list)
    """Folders that commands may also write to."""
    limits: LimitsConfig = LimitsConfig()  # type: ignore[call-arg]
    """What a command may use up."""

    @field_validator("network", mode="before")
    @classmethod
    def _named(cls, value: object) -> object:
        return {True: "guarded", False: "none"}.get(value) if isinstance(value, bool) else value


class ShellConfig(BaseModel):
    """Settings under ``plugins: {shell: …}``. Times are in seconds, sizes in characters."""

    timeout: float = Field(120, gt=0)
    """How long a command may run when the call says nothing."""
    max_timeout: float = Field(600, gt=0)
    """The longest a call may ask for."""
    max_output: int = Field(1_000_000, ge=1_000)
    """Characters of output that are kept, half from the start and half from the end."""
    env_allow: list[str] = Field(default_factory=list)
    """Names of variables that commands see beside those of the packaged list."""
    dangerous_patterns: list[str] = Field(default_factory=default_patterns)
    """Regular expressions; a command in which one matches needs approval."""
    sandbox: SandboxConfig = Field(default_factory=SandboxConfig)
    """Whether and how commands are kept apart from the machine."""

    @field_validator("dangerous_patterns")
    @classmethod
    def _readable(cls, patterns: list[str]) -> list[str]:
        for number, pattern in enumerate(patterns, 1):
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(
                    f"dangerous_patterns, entry {number}, {pattern!r} is no regular expression: "
                    f"{error}; correct it or take it out"
                ) from None
        return patterns

    @model_validator(mode="after")
    def _ordered(self) -> ShellConfig:
        if self.timeout > self.max_timeout:
            raise ValueError(
                f"timeout ({self.timeout:g} s) is longer than max_timeout "
                f"({self.max_timeout:g} s); raise max_timeout or lower timeout"
            )
        return self
