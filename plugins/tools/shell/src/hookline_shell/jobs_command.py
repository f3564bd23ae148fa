"""What the slash command ``/jobs`` answers: the background jobs of a chat, and their output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline_hookspecs.sentences import N_
from hookline_hookspecs.visible_text import code_block, code_span, spell_out

if TYPE_CHECKING:
    from hookline_hookspecs import Session

    from .background_jobs import BackgroundJob, BackgroundJobs

MAX_OUTPUT_CHARS = 4_000
"""Characters of a job's output that are shown, from its end."""
_USAGE = N_("Use /jobs, /jobs NUMBER or /jobs stop NUMBER.")


async def answer(jobs: BackgroundJobs, session: Session, arguments: str, now: float) -> str:
    """Return the answer to ``/jobs ARGUMENTS``; ``now`` is the Unix time."""
    known = await jobs.of_chat(session)
    match arguments.split():
        case []:
            return _listed(known, now)
        case [number]:
            job = _numbered(known, number)
            return _output(job, now) if job else _unknown(number)
        case ["stop", number]:
            job = _numbered(known, number)
            if job is None:
                return _unknown(number)
            if not job.is_running:
                return N_(f"Job {job.number} has already ended.")
            await jobs.end(job)
            return N_(f"Stopped job {job.number}.")
        case _:
            return _USAGE


def _numbered(jobs: list[BackgroundJob], number: str) -> BackgroundJob | None:
    return next((job for job in jobs if str(job.number) == number), None)


def _unknown(number: str) -> str:
    return f"{N_(f'There is no job {spell_out(number)}.')} {_USAGE}"


def _listed(jobs: list[BackgroundJob], now: float) -> str:
    if not jobs:
        return N_("No background jobs.")
    lines = [_line(job, now) for job in jobs]
    return "\n".join(
        [*lines, "", N_("/jobs NUMBER shows the output, /jobs stop NUMBER ends a job.")]
    )


def _line(job: BackgroundJob, now: float) -> str:
    for_ = _duration(now - job.started)
    state = N_(f"running for {for_}") if job.is_running else N_("ended")
    return f"- {job.number}: {code_span(job.shown)} · {state}"


def _output(job: BackgroundJob, now: float) -> str:
    output = job.running.output
    if not output:
        nothing = N_("It has printed nothing since its command ended.")
        return f"{_line(job, now)}\n\n{nothing}"
    return f"{_line(job, now)}\n\n{code_block(spell_out(output[-MAX_OUTPUT_CHARS:]))}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(max(0, int(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min" if minutes else f"{rest} s"
