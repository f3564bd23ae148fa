"""The settings of the plugin, under ``plugins: audit:`` in ``config.yaml``."""

from __future__ import annotations

from pydantic import BaseModel, Field, SecretStr


class CheckpointConfig(BaseModel):
    """Where signed checkpoints are sent, in addition to the home."""

    file: str | None = Field(
        default=None,
        description="File that checkpoints are appended to; null: plugins/audit/checkpoints.jsonl.",
    )
    syslog: str | None = Field(
        default=None, description="HOST:PORT (UDP), or the path of a socket such as /dev/log."
    )
    command: list[str] | None = Field(
        default=None,
        description=(
            "A command that gets each checkpoint on stdin, for example to store it in a bucket "
            "with object lock."
        ),
    )


class AuditConfig(BaseModel):
    """The key, how long rows are kept, and where checkpoints go."""

    key: SecretStr | None = Field(
        default=None,
        title="Audit key",
        description=(
            "32 bytes in base64, from which all keys are derived; null: the file "
            "plugins/audit/key. All machines on one database need the same key."
        ),
    )
    keep_days: int = Field(
        default=400,
        ge=1,
        le=36500,
        title="Retention (days)",
        description="Days that entries are kept.",
    )
    checkpoints: CheckpointConfig = Field(
        CheckpointConfig(),
        title="Signed checkpoints",
        description="Where signed checkpoints are sent, in addition to the home.",
    )
