"""``hookline cron``: manages every chat's jobs from the command line.

Imported only when core builds the command line from the signatures, because of Typer.
"""

from __future__ import annotations

import json as jsonlib
import sys
from collections.abc import Callable
from typing import Annotated, Any, NoReturn

import typer
from hookline_hookspecs.channels import TERMINAL

from . import wording
from .complaint import Complaint
from .desk import Desk
from .jobs import Chat

FAILED, USAGE = 1, 2
"""Exit codes (CONTRACT, Command line)."""
Id = Annotated[str, typer.Argument(help="The job's id in `cron list`.")]
Json = Annotated[bool, typer.Option("--json", help="JSON.")]


class Commands:
    """One method for each command, called by its name.

    The command line is built before the plugin is set up, so the desk is asked for when a command
    runs.
    """

    def __init__(self, desk: Callable[[], Desk]) -> None:
        self._desk = desk

    def by_name(self) -> dict[str, tuple[Callable[..., Any], str]]:
        """The commands with their help."""
        return {
            "list": (self.list, "Every chat's jobs."),
            "add": (self.add, "Run prompts at scheduled times."),
            "remove": (self.remove, "Forget a job."),
            "pause": (self.pause, "Pause a job."),
            "resume": (self.resume, "Resume a paused job."),
            "run": (self.run, "Run a job now."),
        }

    async def list(self, json: Json = False) -> None:
        """Every job: when, what, where, and how it went last."""
        desk = self._desk()
        if not json:
            _out(await desk.list(desk.terminal))
            return
        rows = await desk.rows(desk.terminal)
        _out_json([wording.row(job, last) for job, last in rows])

    async def add(
        self,
        when: Annotated[str, typer.Argument(help='"0 9 * * 1-5", "every 2h", "tomorrow 9:00".')],
        prompt: Annotated[str, typer.Argument(help="What to do; all it must know.")],
        timezone: Annotated[str, typer.Option(help="IANA name, such as Europe/Berlin.")] = "",
        chat: Annotated[
            str, typer.Option(help="The chat it belongs to, CHANNEL:ID; by default the terminal.")
        ] = "",
        user: Annotated[
            str, typer.Option(help="Who owns it in that chat; by default the chat's id.")
        ] = "",
        json: Json = False,
    ) -> None:
        """Create a job."""
        desk = self._desk()
        try:
            job = await desk.add(_chat(desk, chat, user), when, _clean(prompt), timezone)
        except Complaint as error:
            _stop(error)
        _out_json(wording.row(job, None)) if json else _out(desk.added(job))

    async def remove(self, id: Id, json: Json = False) -> None:  # noqa: A002
        """Forget a job."""
        await self._change("remove", id, json)

    async def pause(self, id: Id, json: Json = False) -> None:  # noqa: A002
        """Pause a job until it is resumed."""
        await self._change("pause", id, json)

    async def resume(self, id: Id, json: Json = False) -> None:  # noqa: A002
        """Resume a paused job."""
        await self._change("resume", id, json)

    async def run(self, id: Id, json: Json = False) -> None:  # noqa: A002
        """Run a job now: the terminal's here, another chat's in the gateway."""
        desk = self._desk()
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
            _stop(Complaint(f"another process runs job {job.id} already"), FAILED)
        if json:
            _out_json({"id": job.id, "outcome": ending.outcome, "text": ending.text})
        elif ending.good:
            _out(ending.text or wording.SILENT)
        else:
            sys.stderr.write(f"hookline: {ending.text}\n")
        if not ending.good:
            raise SystemExit(FAILED)

    async def _change(self, action: str, job_id: str, json: bool) -> None:
        desk = self._desk()
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
            f"--chat {name!r} names no chat; write CHANNEL:ID with one of these channels: "
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
