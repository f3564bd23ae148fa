"""What people and the model read about jobs and their runs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from hookline_hookspecs import Turn
from hookline_hookspecs.stored_origins import named, strangers

from .jobs import Ending, Job, Run
from .when import Once, iso, shown

SILENT = "[SILENT]"
QUIET = 80
"""Characters of a prompt in a line."""
_MARKS = " \t\r\n`*_\"'."
"""Characters that models put around or after a word."""


@cache
def _instruction() -> str:
    return files(__package__).joinpath("instruction.md").read_text(encoding="utf-8").strip()


def instruction(job: Job, run: Run, note: str) -> str:
    """What the model is told of the run, beside the job's prompt; ``note`` comes last."""
    text = _instruction().format(job=job.id, when=described(job), due=shown(run.due, job.zone))
    return f"{text}\n\n{note}" if note else text


def lateness(job: Job, run: Run, now: float) -> str:
    """A note that a run is late."""
    return f"(Late: this was due {shown(run.due, job.zone)} and is run {shown(now, job.zone)}.)"


def described(job: Job) -> str:
    """When a job runs: ``0 9 * * *``, ``every 2h`` or ``once, 2026-11-22 09:00 CET``."""
    if isinstance(job.schedule, Once):
        return f"once, {shown(job.schedule.at, job.zone)}"
    return str(job.schedule)


def ending(job: Job, turn: Turn, note: str) -> Ending:
    """Return the end of a turn; ``note`` comes before its answer."""
    if turn.stop not in ("done", "question"):
        return failure(job, turn.reply or f"the turn ended with {turn.stop}")
    if turn.reply.strip(_MARKS) == SILENT:
        return Ending("silent")
    return Ending("ok", f"{note}\n\n{turn.reply}" if note else turn.reply)


def failure(job: Job, reason: str) -> Ending:
    """A run that did not do its work."""
    left = "" if isinstance(job.schedule, Once) else " This is told once, until it works again."
    text = f"Scheduled job {job.id} ({described(job)}) failed: {reason.strip()}{left}"
    if isinstance(job.schedule, Once):
        text += f" Run it again with /schedule run {job.id}."
    return Ending("failed", text, reason)


def interruption(job: Job, run: Run) -> Ending:
    """A run whose process died or was stopped."""
    reason = "the process ended while it ran; what it had done stays, how far it came is not known"
    follows = f" It is not run again for {shown(run.due, job.zone)}."
    text = f"Scheduled job {job.id} ({described(job)}) was interrupted: {reason}.{follows}"
    return Ending("interrupted", text, reason)


def state(job: Job) -> str:
    """``on``, ``paused`` or ``running``."""
    return "running" if job.run_id else job.state


def line(job: Job, last: Run | None) -> str:
    """A job in a list."""
    parts = [job.id, described(job)]
    if job.run_id:
        parts.append("running")
    elif job.asked:
        parts.append("runs as soon as it can")
    elif job.state == "paused":
        parts.append("paused")
    if job.due is not None and not isinstance(job.schedule, Once):
        parts.append(f"next {shown(job.due, job.zone)}")
    if last is not None and last.outcome in ("failed", "interrupted"):
        parts.append(f"{last.outcome}: {short(last.reason)}")
    if others := strangers(job.origins):
        parts.append(f"from {named(others)}")
    return " · ".join([*parts, short(job.prompt)])


def row(job: Job, last: Run | None) -> dict[str, Any]:
    """A job as JSON-ready data."""
    found: dict[str, Any] = {
        "id": job.id,
        "channel": job.chat.channel,
        "chat": job.chat.chat_id,
        "when": str(job.schedule),
        "timezone": job.zone,
        "prompt": job.prompt,
        "state": state(job),
        "next": iso(job.due, job.zone),
        "workspace": job.chat.workspace or None,
    }
    return found | {"last": _last(job, last)}


def _last(job: Job, last: Run | None) -> Mapping[str, Any] | None:
    if last is None:
        return None
    times = {"due": iso(last.due, job.zone), "ended": iso(last.ended, job.zone)}
    return {**times, "outcome": last.outcome, "reason": last.reason or None}


def short(text: str) -> str:
    """Return a text in a line of at most :data:`QUIET` characters."""
    words = " ".join(text.split())
    return words if len(words) <= QUIET else f"{words[: QUIET - 1]}…"
