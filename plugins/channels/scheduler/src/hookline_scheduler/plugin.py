"""The plugin: the tool ``schedule``, the command ``/schedule``, and the hooks.

:mod:`.schedule_parser` parses times, :mod:`.job_store` stores jobs and runs, :mod:`.job_runner`
runs due jobs, :mod:`.schedule_commands` has the actions of people and the model.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

from hookline_hookspecs import (
    Content,
    Context,
    ContextBlock,
    Effect,
    GatewayService,
    Host,
    Plugin,
    Route,
    Target,
    ToolCall,
    Turn,
    When,
    command,
    hookimpl,
    tool,
)
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.importers import Importer, LateImporter
from hookline_hookspecs.sentences import N_

from .config import SchedulerConfig
from .errors import ScheduleError
from .job_runner import BEGIN, RESULT, JobRunner, message_run_id
from .job_store import JobChat, JobStore
from .schedule_commands import ScheduleCommands

USAGE = "\n".join(
    [
        N_("/schedule: this chat's jobs"),
        N_(
            "/schedule add WHEN | PROMPT, such as: "
            "/schedule add every day 9:00 | What is new in the news?"
        ),
        "/schedule remove ID, /schedule pause ID, /schedule resume ID, /schedule run ID",
        N_(
            "WHEN is every 2h, every monday 9:00, 0 9 * * 1-5, in 20 minutes or 2030-01-31 18:00, "
            "optionally followed by a time zone such as Europe/Berlin."
        ),
    ]
)
_ZONE = re.compile(r"\s((?:[A-Za-z_]+/)+[A-Za-z][\w+-]*|UTC)\s*$")
"""A time zone at the end of WHEN."""


class Scheduler(Plugin[SchedulerConfig]):
    """Runs prompts at scheduled times for the chat that created them."""

    @hookimpl
    def setup(self, host: Host) -> None:
        """Connect to the signals that show that this process is long-running.

        Due jobs are not checked before.
        """
        jobs = JobStore(host.storage)
        self.runner = JobRunner(host, self.config, jobs, self._workspace())
        self.commands = ScheduleCommands(host, self.config, jobs, self.runner, self._workspace())
        host.services.add(GatewayService, self.runner)
        host.services.add(Importer, LateImporter(frozenset({"job"}), lambda: self._importer(jobs)))
        host.signals.connect("on_message", self.runner.on_message)
        host.signals.connect("settled", self.runner.on_settled)

    def _importer(self, jobs: JobStore) -> Importer:
        from .importer import JobImporter

        return JobImporter(self.host, self.config, jobs, self.commands.terminal)

    @hookimpl
    async def teardown(self, host: Host) -> None:
        """Release the lock, so that another process takes over."""
        await self.runner.end()

    @hookimpl
    def register_routes(self, register: Callable[[Route], None]) -> None:
        """Register the pages of the schedule."""
        from .pages import SchedulePages

        SchedulePages(self.host, lambda: self.commands).register(register)

    @command("/schedule", audience="everyone", category="People and schedule")
    async def command(self, ctx: Context, args: str) -> str:
        """Show or change this chat's scheduled jobs: /schedule add WHEN | PROMPT."""
        inbound = ctx.turn.inbound
        if run_id := message_run_id(inbound, BEGIN):
            self.runner.start_expected(ctx, run_id)
            return ""
        if run_id := message_run_id(inbound, RESULT):
            return await self.runner.result(ctx, run_id)
        try:
            return await self._act(self._chat(ctx), args)
        except ScheduleError as error:
            return _sentence(error)

    async def _act(self, chat: JobChat, args: str) -> str:
        action, _, rest = args.strip().partition(" ")
        action = action.casefold()
        if action in ("", "list"):
            return await self.commands.list(chat)
        if action == "add":
            when, bar, prompt = rest.partition("|" if "|" in rest else "\n")
            if not bar:
                problem = N_("Put a | between time and prompt.")
                return f"{problem}\n{USAGE}"
            zone = _ZONE.search(when)
            when = when[: zone.start()] if zone else when
            job = await self.commands.add(chat, when, prompt, zone[1] if zone else "")
            return self.commands.added(job)
        work = self.commands.job_actions().get(action)
        return await work(chat, rest) if work else USAGE

    @hookimpl
    def pre_prompt(self, ctx: Context, turn: Turn) -> ContextBlock | None:
        """Return an empty block with the origins of a job's prompt.

        So the run counts as having read what the session had read that made the job.
        """
        origins = self.runner.origins(turn.session.id)
        return ContextBlock("scheduled", origins=origins) if origins else None

    def _effects(self, ctx: Context, call: ToolCall) -> tuple[Effect, ...]:
        when = str(call.arguments.get("when") or call.arguments.get("id") or "")
        return () if call.arguments.get("action") == "list" else (Effect("schedule", when),)

    @tool(main_only=True, origin="workspace", effects=_effects)
    async def schedule(
        self,
        ctx: Context,
        action: Literal["add", "list", "remove", "pause", "resume", "run"],
        id: Annotated[str | None, Target("job")] = None,  # noqa: A002
        when: Annotated[str | None, When()] = None,
        prompt: Annotated[str | None, Content()] = None,
        timezone: str | None = None,
    ) -> str:
        """Run a prompt later, in a fresh session; its answer is sent to this chat.

        Args:
            when: cron, "every 2h", "in 20 minutes", "every weekday 9:00" or ISO
            prompt: all it must know
        """
        chat = self._chat(ctx)
        if action == "list":
            return await self.commands.list(chat)
        if action == "add":
            # The model may repeat what it has read, and it is stored, so it passes that gate.
            source = f"{chat.name} {ctx.session.id}"
            prompt = await ctx.learn(prompt or "", source, "schedule")
            job = await self.commands.add(chat, when or "", prompt, timezone or "", ctx.origins)
            return self.commands.added(job)
        return await self.commands.job_actions()[action](chat, id or "")

    def _chat(self, ctx: Context) -> JobChat:
        session = ctx.session
        workspace = self._workspace() if session.channel == TERMINAL else ""
        return JobChat(session.channel, session.chat_id, ctx.turn.inbound.user_id, workspace)

    def _workspace(self) -> str:
        """Return the workspace of this process's terminal sessions."""
        return str(Path(self.host.config.workspace).expanduser().resolve())


def _sentence(error: ScheduleError) -> str:
    text = str(error)
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", '"', "?")) else ".")
