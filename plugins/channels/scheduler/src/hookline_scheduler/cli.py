"""Manage the jobs that run by schedule.

``hookline cron``, for the jobs of every chat.
"""

from __future__ import annotations

import json as jsonlib
import sys
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.cli import with_plugin

from . import wording
from .complaint import Complaint
from .desk import Desk
from .jobs import Chat

if TYPE_CHECKING:
    from .plugin import Scheduler


FAILED, USAGE = 1, 2
"""Exit codes (CONTRACT, Command line)."""
Id = Annotated[str, typer.Argument(help="The job's id in `hookline cron list`.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

app = typer.Typer(no_args_is_help=True)


@app.command("list")
@with_plugin
async def list_jobs(plugin: Scheduler, json: Json = False) -> None:
    """List every chat's jobs: when they run, what they do, and how the last run went."""
    desk = plugin.desk
    if not json:
        _out(await desk.list(desk.terminal))
        return
    rows = await desk.rows(desk.terminal)
    _out_json([wording.row(job, last) for job, last in rows])


@app.command("add")
@with_plugin
async def add(
    plugin: Scheduler,
    when: Annotated[str, typer.Argument(help='"0 9 * * 1-5", "every 2h", "tomorrow 9:00".')],
    prompt: Annotated[str, typer.Argument(help="What to do, with all the run must know.")],
    timezone: Annotated[str, typer.Option(help="IANA time zone, such as Europe/Berlin.")] = "",
    chat: Annotated[
        str, typer.Option(help="The chat it belongs to, CHANNEL:ID; the terminal by default.")
    ] = "",
    user: Annotated[
        str, typer.Option(help="Who owns it in that chat; the chat's id by default.")
    ] = "",
    json: Json = False,
) -> None:
    """Add a job that runs a prompt at scheduled times."""
    desk = plugin.desk
    try:
        job = await desk.add(_chat(desk, chat, user), when, _clean(prompt), timezone)
    except Complaint as error:
        _stop(error)
    _out_json(wording.row(job, None)) if json else _out(desk.added(job))


@app.command("remove")
@with_plugin
async def remove(plugin: Scheduler, id: Id, json: Json = False) -> None:  # noqa: A002
    """Remove a job."""
    await _change(plugin, "remove", id, json)


@app.command("pause")
@with_plugin
async def pause(plugin: Scheduler, id: Id, json: Json = False) -> None:  # noqa: A002
    """Pause a job until it is resumed."""
    await _change(plugin, "pause", id, json)


@app.command("resume")
@with_plugin
async def resume(plugin: Scheduler, id: Id, json: Json = False) -> None:  # noqa: A002
    """Resume a paused job."""
    await _change(plugin, "resume", id, json)


@app.command("run")
@with_plugin
async def run(plugin: Scheduler, id: Id, json: Json = False) -> None:  # noqa: A002
    """Run a job now; another chat's job runs in the gateway."""
    desk = plugin.desk
    try:
        job = await desk.find(desk.terminal, id)
        said = await desk.run(desk.terminal, id)
    except Complaint as error:
        _stop(error)
    if job.chat.channel != TERMINAL:
        _out_json({"id": job.id, "outcome": None, "text": said}) if json else _out(said)
        return
    ending = await desk.run_here(job)
    if ending is None:
        _stop(Complaint(f"another process is already running job {job.id}"), FAILED)
    if json:
        _out_json({"id": job.id, "outcome": ending.outcome, "text": ending.text})
    elif ending.good:
        _out(ending.text or wording.SILENT)
    else:
        sys.stderr.write(f"hookline: {ending.text}\n")
    if not ending.good:
        raise SystemExit(FAILED)


async def _change(plugin: Scheduler, action: str, job_id: str, json: bool) -> None:
    desk = plugin.desk
    try:
        said = await desk.by_name()[action](desk.terminal, job_id)
    except Complaint as error:
        _stop(error)
    _out_json({"id": job_id, "text": said}) if json else _out(said)


def _chat(desk: Desk, name: str, user: str) -> Chat:
    """The chat that ``CHANNEL:ID`` names. Raises ``Complaint``."""
    if not name or name.partition(":")[0] == TERMINAL:
        return desk.terminal
    known = desk.channels()
    # The longest name: a chat of telegram:work is none of telegram.
    channel = max([one for one in known if name.startswith(f"{one}:")], default="")
    chat_id = name[len(channel) + 1 :]
    if not channel or not chat_id:
        raise Complaint(
            f"--chat {name!r} is not a chat. Write CHANNEL:ID with one of these channels: "
            f"{', '.join(known) or 'none is on'}"
        )
    return Chat(channel, chat_id, user or chat_id)


def _clean(text: str) -> str:
    """Arguments may hold bytes that are not text; these cannot be stored."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _out(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding) + "\n")


def _out_json(value: object) -> None:
    sys.stdout.write(jsonlib.dumps(value) + "\n")


def _stop(error: Complaint, code: int = USAGE) -> NoReturn:
    sys.stderr.write(f"hookline: {error}\n")
    raise SystemExit(code)
