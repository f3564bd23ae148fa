"""The plugin's settings."""

from __future__ import annotations

from pydantic import BaseModel, Field, field_validator

from .errors import ScheduleError
from .time_zones import find_zone


class SchedulerConfig(BaseModel):
    """How jobs are stored and run."""

    timezone: str | None = Field(
        default=None,
        title="Time zone",
        description="Time zone, such as Europe/Berlin; null: the system's.",
    )
    jobs_per_chat: int = Field(
        default=20, ge=1, le=1000, title="Jobs per chat", description="Maximum jobs per chat."
    )
    parallel: int = Field(
        default=3,
        ge=1,
        le=32,
        title="Runs at a time",
        description="Maximum runs at a time in one process.",
    )
    timeout: float = Field(
        default=3600.0,
        gt=0,
        title="Run timeout (seconds)",
        description="Maximum seconds for one run.",
    )
    late_after: float = Field(
        default=120.0,
        ge=1,
        title="Late after (seconds)",
        description="Seconds after which a run is late.",
    )
    look_every: float = Field(
        default=30.0,
        ge=0.01,
        le=30,
        title="Check interval (seconds)",
        description="Maximum seconds between checks for due jobs.",
    )
    drain: float = Field(
        default=10.0,
        ge=0,
        title="Time to finish (seconds)",
        description="Seconds that runs get to finish when the gateway stops.",
    )

    @field_validator("timezone")
    @classmethod
    def _known(cls, name: str | None) -> str | None:
        try:
            return name if name is None else find_zone(name).key
        except ScheduleError as error:
            raise ValueError(str(error)) from None
