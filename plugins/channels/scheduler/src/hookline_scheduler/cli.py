"""Manage scheduled jobs.

``hookline cron``, for the jobs of every chat.
"""

from __future__ import annotations

import json as jsonlib
import sys
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.cli import with_plugin

from . import job_text
from .errors import ScheduleError
from .job_store import JobChat
from .schedule_commands import ScheduleCommands

if TYPE_CHECKING:
    from .plugin import Scheduler


FAILED, USAGE = 1, 2
"""Exit codes."""
IdArgument = Annotated[str, typer.Argument(help="The job's id, from `hookline cron list`.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]

app = typer.Typer(no_args_is_help=True)


@app.command("list")
@with_plugin
async def list_jobs(plugin: Scheduler, json: JsonOption = False) -> None:
    """List every chat's jobs, with schedule, prompt and last result."""
    commands = plugin.commands
    if not json:
        _out(await commands.list(commands.terminal))
        return
    rows = await commands.rows(commands.terminal)
    _out_json([job_text.row(job, last) for job, last in rows])


@app.command("add")
@with_plugin
async def add(
    plugin: Scheduler,
    when: Annotated[str, typer.Argument(help='"0 9 * * 1-5", "every 2h", "in 20 minutes".')],
    prompt: Annotated[str, typer.Argument(help="What to do, with all the context it needs.")],
    timezone: Annotated[str, typer.Option(help="IANA time zone, such as Europe/Berlin.")] = "",
    chat: Annotated[
        str, typer.Option(help="The chat it belongs to, as CHANNEL:ID. Default: the terminal.")
    ] = "",
    user: Annotated[
        str, typer.Option(help="The job's owner in that chat. Default: the chat's id.")
    ] = "",
    json: JsonOption = False,
) -> None:
    """Schedule a prompt."""
    commands = plugin.commands
    try:
        job = await commands.add(_chat(commands, chat, user), when, _clean(prompt), timezone)
    except ScheduleError as error:
        _stop(error)
    _out_json(job_text.row(job, None)) if json else _out(commands.added(job))


@app.command("remove")
@with_plugin
async def remove(plugin: Scheduler, id: IdArgument, json: JsonOption = False) -> None:  # noqa: A002
    """Remove a job."""
    await _change(plugin, "remove", id, json)


@app.command("pause")
@with_plugin
async def pause(plugin: Scheduler, id: IdArgument, json: JsonOption = False) -> None:  # noqa: A002
    """Pause a job until it is resumed."""
    await _change(plugin, "pause", id, json)


@app.command("resume")
@with_plugin
async def resume(plugin: Scheduler, id: IdArgument, json: JsonOption = False) -> None:  # noqa: A002
    """Resume a paused job."""
    await _change(plugin, "resume", id, json)


@app.command("run")
@with_plugin
async def run(plugin: Scheduler, id: IdArgument, json: JsonOption = False) -> None:  # noqa: A002
    """Run a job now. Jobs of other chats run in the gateway."""
    commands = plugin.commands
    try:
        job = await commands.find(commands.terminal, id)
        text = await commands.run(commands.terminal, id)
    except ScheduleError as error:
        _stop(error)
    if job.chat.channel != TERMINAL:
        _out_json({"id": job.id, "outcome": None, "text": text}) if json else _out(text)
        return
    outcome = await commands.run_here(job)
    if outcome is None:
        _stop(ScheduleError(f"another process is already running job {job.id}"), FAILED)
    if json:
        _out_json({"id": job.id, "outcome": outcome.status, "text": outcome.text})
    elif outcome.is_success:
        _out(outcome.text or job_text.SILENT)
    else:
        sys.stderr.write(f"hookline: {outcome.text}\n")
    if not outcome.is_success:
        raise SystemExit(FAILED)


async def _change(plugin: Scheduler, action: str, job_id: str, json: bool) -> None:
    commands = plugin.commands
    try:
        text = await commands.job_actions()[action](commands.terminal, job_id)
    except ScheduleError as error:
        _stop(error)
    _out_json({"id": job_id, "text": text}) if json else _out(text)


def _chat(commands: ScheduleCommands, name: str, user: str) -> JobChat:
    """Return the chat that ``CHANNEL:ID`` names. Raises ``ScheduleError`` if it names none."""
    if not name or name.partition(":")[0] == TERMINAL:
        return commands.terminal
    known = commands.channels()
    # The longest name wins: telegram:work:17 is a chat of telegram:work, not of telegram.
    channel = max([other for other in known if name.startswith(f"{other}:")], default="")
    chat_id = name[len(channel) + 1 :]
    if not channel or not chat_id:
        raise ScheduleError(
            f"--chat {name!r} is not a chat. Write CHANNEL:ID with one of these channels: "
            f"{', '.join(known) or 'none is on'}"
        )
    return JobChat(channel, chat_id, user or chat_id)


def _clean(text: str) -> str:
    """Replace bytes of an argument that are not text: they cannot be stored."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _out(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding) + "\n")


def _out_json(value: object) -> None:
    sys.stdout.write(jsonlib.dumps(value) + "\n")


def _stop(error: ScheduleError, code: int = USAGE) -> NoReturn:
    sys.stderr.write(f"hookline: {error}\n")
    raise SystemExit(code)
