"""The plugin: the tool ``schedule``, the command ``/schedule``, ``hookline cron``, and the hooks.

:mod:`.when` parses times, :mod:`.jobs` stores jobs and runs, :mod:`.service` runs what is due,
:mod:`.desk` is what people and the model can do.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from hookline_hookspecs import (
    Context,
    ContextBlock,
    Effect,
    GatewayService,
    Host,
    Plugin,
    Route,
    ToolCall,
    Turn,
    command,
    hookimpl,
    tool,
)
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.importers import Importer, LateImporter

from .complaint import Complaint
from .config import SchedulerConfig
from .desk import Desk
from .jobs import Chat, Jobs
from .service import BEGIN, RESULT, Service, own

USAGE = """/schedule: this chat's jobs
/schedule add WHEN | PROMPT, such as: /schedule add every day 9:00 | What is new in the news?
/schedule remove ID, /schedule pause ID, /schedule resume ID, /schedule run ID
WHEN is every 2h, every monday 9:00, 0 9 * * 1-5, in 20 minutes, tomorrow 9:00 or 2030-01-31 18:00,
with a time zone such as Europe/Berlin after it if wanted."""
_ZONE = re.compile(r"\s((?:[A-Za-z_]+/)+[A-Za-z][\w+-]*|UTC)\s*$")
"""A time zone at the end of WHEN."""


class Scheduler(Plugin[SchedulerConfig]):
    """Runs prompts at scheduled times, for the chat that created them."""

    @hookimpl
    def setup(self, host: Host) -> None:
        """Subscribe to the signals that show that this process is long-running; jobs are not looked
        for before."""
        jobs = Jobs(host.storage)
        self.service = Service(host, self.config, jobs, self._workspace())
        self.desk = Desk(host, self.config, jobs, self.service, self._workspace())
        host.services.add(GatewayService, self.service)
        host.services.add(Importer, LateImporter(frozenset({"job"}), lambda: self._importer(jobs)))
        host.signals.connect("on_message", self.service.heard)
        host.signals.connect("settled", self.service.settled)

    def _importer(self, jobs: Jobs) -> Importer:
        from .imports import JobImporter

        return JobImporter(self.host, self.config, jobs, self.desk.terminal)

    @hookimpl
    async def teardown(self, host: Host) -> None:
        """Release the lock: the next process takes over what is under way."""
        await self.service.end()

    @hookimpl
    def register_routes(self, register: Callable[[Route], None]) -> None:
        """Register the pages of the schedule."""
        from .pages import SchedulePages

        SchedulePages(self.host, lambda: self.desk).register(register)

    @command("/schedule", audience="everyone", category="People and schedule")
    async def command(self, ctx: Context, args: str) -> str:
        """What runs by itself in this chat: /schedule add WHEN | PROMPT."""
        inbound = ctx.turn.inbound
        if run_id := own(inbound, BEGIN):
            self.service.began(ctx, run_id)
            return ""
        if run_id := own(inbound, RESULT):
            return await self.service.result(ctx, run_id)
        try:
            return await self._act(self._chat(ctx), args)
        except Complaint as error:
            return _sentence(error)

    async def _act(self, chat: Chat, args: str) -> str:
        action, _, rest = args.strip().partition(" ")
        action = action.casefold()
        if action in ("", "list"):
            return await self.desk.list(chat)
        if action == "add":
            when, bar, prompt = rest.partition("|" if "|" in rest else "\n")
            if not bar:
                raise Complaint(f"write a | between time and prompt.\n{USAGE}")
            zone = _ZONE.search(when)
            when = when[: zone.start()] if zone else when
            job = await self.desk.add(chat, when, prompt, zone[1] if zone else "")
            return self.desk.added(job)
        work = self.desk.by_name().get(action)
        return await work(chat, rest) if work else USAGE

    @hookimpl
    def pre_prompt(self, ctx: Context, turn: Turn) -> ContextBlock | None:
        """Return an empty block with the origins of a job's prompt: the run counts as having read
        what the session read in which the job was made."""
        origins = self.service.origins(turn.session.id)
        return ContextBlock("scheduled", origins=origins) if origins else None

    def _effects(self, ctx: Context, call: ToolCall) -> tuple[Effect, ...]:
        when = str(call.arguments.get("when") or call.arguments.get("id") or "")
        return () if call.arguments.get("action") == "list" else (Effect("schedule", when),)

    @tool(main_only=True, origin="workspace", effects=_effects)
    async def schedule(
        self,
        ctx: Context,
        action: Literal["add", "list", "remove", "pause", "resume", "run"],
        id: str | None = None,  # noqa: A002
        when: str | None = None,
        prompt: str | None = None,
        timezone: str | None = None,
    ) -> str:
        """Run a prompt later, in a fresh session; its answer is sent to this chat.

        Args:
            when: cron, "every 2h", "in 20 minutes", "tomorrow 9:00" or ISO
            prompt: all it must know
        """
        chat = self._chat(ctx)
        if action == "list":
            return await self.desk.list(chat)
        if action == "add":
            # The model may repeat what it has read, and it is stored, so it passes that gate.
            source = f"{chat.name} {ctx.session.id}"
            prompt = await ctx.learn(prompt or "", source, "schedule")
            job = await self.desk.add(chat, when or "", prompt, timezone or "", ctx.origins)
            return self.desk.added(job)
        return await self.desk.by_name()[action](chat, id or "")

    def _chat(self, ctx: Context) -> Chat:
        session = ctx.session
        workspace = self._workspace() if session.channel == TERMINAL else ""
        return Chat(session.channel, session.chat_id, ctx.turn.inbound.user_id, workspace)

    def _workspace(self) -> str:
        """The workspace of the terminal's sessions of this process."""
        return str(Path(self.host.config.workspace).expanduser().resolve())


def _sentence(error: Complaint) -> str:
    text = str(error)
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", '"', "?")) else ".")
