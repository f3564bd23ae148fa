"""List the background jobs of plugins, and run one now.

``hookline jobs list|run NAME``.
"""

from __future__ import annotations

import difflib
import json as jsonlib
from datetime import datetime
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer
from hookline_hookspecs import CommandError, Job
from hookline_hookspecs.cli import with_plugin
from hookline_hookspecs.visible_text import spell_out_prose

from .due_times import next_due

if TYPE_CHECKING:
    from . import Jobs

FAILED = 1
app = typer.Typer(no_args_is_help=True)


@app.command("list")
@with_plugin
async def list_jobs(
    plugin: Jobs, json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False
) -> None:
    """List the jobs, with when each last started and is due next."""
    starts, now = await plugin.last_starts(), plugin.host.now()
    rows = [
        {
            "name": f"{name}/{job.name}",
            "every": job.every,
            "at": job.at,
            "last": starts.get(f"{name}/{job.name}"),
            "next": next_due(job, now, starts.get(f"{name}/{job.name}")),
        }
        for name, job in plugin.host.registered(Job)
    ]
    if json:
        typer.echo(jsonlib.dumps(rows, ensure_ascii=False))
        return
    width = max((len(str(row["name"])) for row in rows), default=0)
    for row, (_, job) in zip(rows, plugin.host.registered(Job), strict=True):
        last = starts.get(str(row["name"]))
        typer.echo(
            spell_out_prose(
                f"{row['name']:{width}}  {_period(job):12}  "
                f"last {_clock(last) if last is not None else 'never':16}  "
                f"next {_clock(next_due(job, now, last))}"
            )
        )


@app.command()
@with_plugin
async def run(
    plugin: Jobs, name: Annotated[str, typer.Argument(metavar="NAME", help="PLUGIN/JOB, or JOB.")]
) -> None:
    """Run a job now, whether or not it is due."""
    owner, job = _find(plugin, name)
    started = perf_counter()
    try:
        await plugin.run_now(owner, job)
    except Exception as error:
        reason = str(error) or type(error).__name__
        plugin.log.warning("job %s/%s failed: %s", owner, job.name, reason, exc_info=error)
        raise CommandError(
            f"job {owner}/{job.name} failed: {reason}. The traceback is in `hookline logs`.", FAILED
        ) from None
    typer.echo(spell_out_prose(f"{owner}/{job.name} ran in {perf_counter() - started:.1f} s."))


def _find(plugin: Jobs, name: str) -> tuple[str, Job]:
    """The job of this name and its plugin. Raises ``CommandError``."""
    jobs = {f"{owner}/{job.name}": (owner, job) for owner, job in plugin.host.registered(Job)}
    found = [one for full, one in jobs.items() if name in (full, one[1].name)]
    if len(found) > 1:
        full_names = " or ".join(f"{owner}/{job.name}" for owner, job in found)
        raise CommandError(f"{name} is ambiguous. Write {full_names}.")
    if not found:
        near = difflib.get_close_matches(name, [*jobs, *(job.name for _, job in jobs.values())], 1)
        hint = f"Did you mean {near[0]}?" if near else "`hookline jobs list` shows them."
        raise CommandError(f"unknown job {name}. {hint}")
    return found[0]


def _period(job: Job) -> str:
    """``daily 03:30``, or ``every 6 h``."""
    if job.every is None:
        return f"daily {job.at}"
    for seconds, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if job.every % seconds == 0:
            return f"every {job.every / seconds:g} {unit}"
    return f"every {job.every:g} s"


def _clock(when: float) -> str:
    return datetime.fromtimestamp(when).strftime("%Y-%m-%d %H:%M")
