"""When a job was and will be due."""

from __future__ import annotations

from datetime import datetime, timedelta

from hookline_hookspecs import Job


def last_due(job: Job, now: float) -> float:
    """When the job should last have started (Unix seconds), seen from ``now``.

    A job whose last start is not later than this is due.
    """
    if job.every is not None:
        return now - job.every
    today = _on_the_day(job, now, 0)
    return today if today <= now else _on_the_day(job, now, -1)


def next_due(job: Job, now: float, last_start: float | None) -> float:
    """When the job is due next (Unix seconds); ``now`` if it is due already."""
    if job.every is not None:
        return now if last_start is None else max(now, last_start + job.every)
    if last_start is not None and last_start <= last_due(job, now):
        return now
    today = _on_the_day(job, now, 0)
    return today if today > now else _on_the_day(job, now, 1)


def _on_the_day(job: Job, now: float, days: int) -> float:
    """The job's time of day, on today's date plus ``days``, by the machine's clock."""
    hour, minute = map(int, (job.at or "00:00").split(":"))
    day = datetime.fromtimestamp(now) + timedelta(days=days)  # local time
    return day.replace(hour=hour, minute=minute, second=0, microsecond=0).timestamp()
