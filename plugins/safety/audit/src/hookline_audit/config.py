"""The settings."""

from __future__ import annotations

from pydantic import BaseModel, Field, SecretStr


class CheckpointConfig(BaseModel):
    """Where signed checkpoints go, besides the home."""

    file: str | None = Field(
        default=None,
        description="A file that checkpoints are appended to; null is "
        "plugins/audit/checkpoints.jsonl.",
    )
    syslog: str | None = Field(
        default=None, description="HOST:PORT (UDP) or the path of a socket, such as /dev/log."
    )
    command: list[str] | None = Field(
        default=None,
        description="A program and its arguments that gets each checkpoint on stdin, such as one "
        "that puts it into a bucket with object lock.",
    )


class AuditConfig(BaseModel):
    """How long rows are kept, and where checkpoints go."""

    key: SecretStr | None = Field(
        default=None,
        description="32 bytes in base64, from which all keys are made; null is the file "
        "plugins/audit/key. Several machines on one database need the same.",
    )
    keep_days: int = Field(default=400, ge=1, le=36500, description="Days that rows are kept.")
    checkpoints: CheckpointConfig = CheckpointConfig()
