"""Texts about jobs and their runs, for people and the model."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from hookline_hookspecs import Turn
from hookline_hookspecs.sentences import N_
from hookline_hookspecs.stored_origins import named, strangers
from hookline_hookspecs.visible_text import code_span

from .cron_text import describe
from .job_store import Job, JobRun, RunOutcome
from .schedule_parser import OneTimeSchedule, format_time, iso_time

SILENT = "[SILENT]"
MAX_LINE_CHARS = 80
"""Characters of a prompt or a reason on one line."""
_MARKS = " \t\r\n`*_\"'."
"""Characters that models put around a word."""


@cache
def _instruction() -> str:
    return files(__package__).joinpath("instruction.md").read_text(encoding="utf-8").strip()


def instruction(job: Job, run: JobRun, note: str) -> str:
    """Return the system text of a run; ``note`` comes last."""
    text = _instruction().format(
        job=job.id, when=described(job), due=format_time(run.due, job.zone)
    )
    return f"{text}\n\n{note}" if note else text


def lateness(job: Job, run: JobRun, now: float) -> str:
    """Return a note that a run is late."""
    due, started = format_time(run.due, job.zone), format_time(now, job.zone)
    return f"(Late: this was due {due} and is run {started}.)"


def described(job: Job) -> str:
    """Return when a job runs: ``0 9 * * *``, ``every 2h`` or ``once, 2026-11-22 09:00 CET``."""
    if isinstance(job.schedule, OneTimeSchedule):
        return f"once, {format_time(job.schedule.at, job.zone)}"
    return str(job.schedule)


def in_words(job: Job) -> str:
    """Return when a job runs, for people: ``every 2 hours`` or ``once · 2026-11-22 09:00 CET``."""
    if isinstance(job.schedule, OneTimeSchedule):
        return f"{N_('once')} · {format_time(job.schedule.at, job.zone)}"
    return describe(job.schedule)


def outcome(job: Job, turn: Turn, note: str) -> RunOutcome:
    """Return the outcome of a turn; ``note`` comes before its answer."""
    if turn.stop not in ("done", "question"):
        return failure(job, turn.reply or f"the turn ended with {turn.stop}")
    if turn.reply.strip(_MARKS) == SILENT:
        return RunOutcome("silent")
    return RunOutcome("ok", f"{note}\n\n{turn.reply}" if note else turn.reply)


def failure(job: Job, reason: str) -> RunOutcome:
    """Return the outcome of a run that failed."""
    text = N_(f"Scheduled job {job.id} ({described(job)}) failed: {reason.strip()}")
    if isinstance(job.schedule, OneTimeSchedule):
        after = N_(f"Run it again with /schedule run {job.id}.")
    else:
        after = N_("Further failures are not reported until it succeeds again.")
    text = f"{text}\n{after}"
    return RunOutcome("failed", text, reason)


def interruption(job: Job, run: JobRun) -> RunOutcome:
    """Return the outcome of a run whose process died or was stopped."""
    reason = N_("the process ended during the run; how far it got is unknown")
    text = N_(f"Scheduled job {job.id} ({described(job)}) was interrupted: {reason}.")
    text += f"\n{N_(f'The run of {format_time(run.due, job.zone)} is not repeated.')}"
    return RunOutcome("interrupted", text, reason)


def state(job: Job) -> str:
    """Return ``on``, ``paused`` or ``running``."""
    return "running" if job.run_id else job.state


def line(job: Job, last: JobRun | None) -> str:
    """Return the line of a job in a list."""
    parts = [job.id, in_words(job)]
    if job.run_id:
        parts.append(N_("running"))
    elif job.requested:
        parts.append(N_("runs as soon as possible"))
    elif job.state == "paused":
        parts.append(N_("paused"))
    if job.due is not None and not isinstance(job.schedule, OneTimeSchedule):
        parts.append(N_(f"next {format_time(job.due, job.zone)}"))
    if last is not None and last.outcome == "failed":
        parts.append(N_(f"failed: {short(last.reason)}"))
    if last is not None and last.outcome == "interrupted":
        parts.append(N_(f"interrupted: {short(last.reason)}"))
    if others := strangers(job.origins):
        parts.append(N_(f"contains text from {named(others)}"))
    return " · ".join([*parts, code_span(short(job.prompt))])


def row(job: Job, last: JobRun | None) -> dict[str, Any]:
    """Return a job for JSON."""
    found: dict[str, Any] = {
        "id": job.id,
        "channel": job.chat.channel,
        "chat": job.chat.chat_id,
        "when": str(job.schedule),
        "timezone": job.zone,
        "prompt": job.prompt,
        "state": state(job),
        "next": iso_time(job.due, job.zone),
        "workspace": job.chat.workspace or None,
    }
    return found | {"last": _last(job, last)}


def _last(job: Job, last: JobRun | None) -> Mapping[str, Any] | None:
    if last is None:
        return None
    times = {"due": iso_time(last.due, job.zone), "ended": iso_time(last.ended, job.zone)}
    return {**times, "outcome": last.outcome, "reason": last.reason or None}


def short(text: str) -> str:
    """Return a text on one line of at most :data:`MAX_LINE_CHARS` characters."""
    words = " ".join(text.split())
    return words if len(words) <= MAX_LINE_CHARS else f"{words[: MAX_LINE_CHARS - 1]}…"
