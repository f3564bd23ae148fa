"""The plugin: the tool ``bash``, and the hook ``pre_tool`` that decides about each command."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from hookline_hookspecs import (
    Ask,
    Check,
    CheckedCommand,
    CheckResult,
    CommandCheck,
    CommandEffects,
    CommandSandbox,
    Context,
    Deny,
    Effect,
    Host,
    Mode,
    Modes,
    Origin,
    Paths,
    Plugin,
    Question,
    Session,
    ToolCall,
    ToolError,
    ToolOutput,
    command,
    hookimpl,
    tool,
)
from hookline_hookspecs.conversations import SessionCopyListener
from hookline_hookspecs.file_origins import BackgroundCommand, BackgroundCommands

from .config import ShellConfig

if TYPE_CHECKING:
    from .background_jobs import BackgroundJobs
    from .command_guard import CommandGuard
    from .offline_chats import OfflineChats
    from .sandbox_runner import SandboxedResult, SandboxRunner

TOOL = "bash"
IMMOVABLE = ("Device or resource busy", "Permission denied", "Read-only file system")
"""With these words a program cannot move or delete a folder that the sandbox has mounted."""
FIXED_WORKSPACE = (
    "The sandbox lets no command move or delete the workspace itself. Run it with outside=true, "
    "which a person approves; afterwards the tools no longer find their files."
)
_WITHOUT_TERMINAL = {
    "TERM": "dumb",
    "GIT_EDITOR": ":",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
}
"""Variables with which programs open no editor, pager or prompt (git(1), git-var(1))."""


class Shell(Plugin[ShellConfig]):
    """Runs commands for the model, in the sandbox if there is one."""

    _jobs: BackgroundJobs

    @cached_property
    def _guard(self) -> CommandGuard:
        """Created at the first command."""
        from .command_guard import CommandGuard

        return CommandGuard(self.config, self.host)

    @cached_property
    def _offline(self) -> OfflineChats:
        from .offline_chats import OfflineChats

        return OfflineChats(self.host)

    @cached_property
    def _sandbox_runner(self) -> SandboxRunner:
        """Created at the first sandboxed command."""
        from .sandbox_runner import SandboxRunner

        return SandboxRunner(self.config.sandbox, self.host)

    @hookimpl
    def setup(self, host: Host) -> None:
        """Create the list of background jobs, and offer the check of a command."""
        from .background_jobs import BackgroundJobs

        self._jobs = BackgroundJobs()
        self._complete_journal(host)
        host.services.provide(CommandSandbox, self)
        host.services.provide(CommandCheck, self)
        host.services.add(BackgroundCommands, self)
        host.services.add(SessionCopyListener, self)

    def _complete_journal(self, host: Host) -> None:
        """Put back what commands of a Hookline that was killed had changed in control files."""
        from hookline_sandbox.put_back_journal import JOURNAL_FOLDER, complete_journal

        if not (host.home / JOURNAL_FOLDER).is_dir():
            return
        for workspace, changes in complete_journal(host.home, host.paths.protection).items():
            names = ", ".join(changes.names())
            host.log.warning("put back in %s what commands had changed: %s", workspace, names)

    @hookimpl
    async def teardown(self, host: Host) -> None:
        """End the background jobs."""
        await self._jobs.end_all()
        if "_sandbox_runner" in vars(self):
            await self._sandbox_runner.close()

    @hookimpl
    async def start_of_session(self, ctx: Context, session: Session) -> None:
        """Know whether its commands may reach the network."""
        await self._offline.begin(session)

    async def session_copied(self, session: Session, copy: Session) -> None:
        """Leave the copy of a chat without a network without one too (SessionCopyListener)."""
        if await self._offline.contains(session.id):
            await self._offline.set(copy.id, offline=True)

    async def is_offline(self, session_id: str) -> bool:
        """Return whether a person has cut off the commands of a session from the network."""
        return await self._offline.contains(session_id)

    @hookimpl
    async def end_of_session(self, ctx: Context, session: Session) -> None:
        """End what the session left running; the chat stays without a network if it was."""
        await self._jobs.end_session(session)
        if "_sandbox_runner" in vars(self):
            await self._sandbox_runner.end_session(session.id)
        await self._offline.end(session)

    @hookimpl(tryfirst=True)
    async def on_question(self, ctx: Context, question: Question) -> None:
        """Put back what running commands changed in control files, before a person looks."""
        if "_sandbox_runner" in vars(self):
            await self._sandbox_runner.put_back(ctx)

    async def _complete_sandbox(self, session_id: str, typed: str) -> list[tuple[str, str]]:
        choices = [
            ("default", "as it is set for all chats"),
            ("no-network", "commands reach no network and never leave the sandbox"),
        ]
        return [one for one in choices if one[0].startswith(typed.strip().casefold())]

    @command(
        "/sandbox",
        audience="session",
        immediate=True,
        category="Model and safety",
        complete=_complete_sandbox,
    )
    async def sandbox(self, ctx: Context, args: str) -> str:
        """Show or tighten this chat's sandbox: /sandbox no-network, /sandbox default."""
        from .sandbox_command import answer

        return await answer(self, ctx, args.strip().casefold())

    async def put_offline(self, session_id: str, *, offline: bool) -> None:
        """Cut off a session's commands from the network at once, or end that."""
        await self._offline.set(session_id, offline=offline)
        if offline and "_sandbox_runner" in vars(self):
            for one in self._offline.with_children(session_id):
                await self._sandbox_runner.end_processes(one)

    @command("/jobs", audience="admins", immediate=True, category="Conversation")
    async def jobs(self, ctx: Context, args: str) -> str:
        """List the background jobs; /jobs N shows the output of one, /jobs stop N ends it."""
        from .jobs_command import answer

        return await answer(self._jobs, ctx.session, args, self.host.now())

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """Register a check of the shell with its pattern list, and one of the sandbox."""
        register(Check("shell", self._check))
        register(Check("sandbox", self._check_sandbox))

    @hookimpl
    async def pre_tool(self, ctx: Context, call: ToolCall) -> Deny | Ask | None:
        """Decide where a call of ``bash`` runs, and ask about what nothing confines or allows."""
        command = call.arguments.get("command")
        if call.name != TOOL or not isinstance(command, str):
            return None  # the tool reports wrong arguments itself
        offline = await self._offline.contains(ctx.session.id)
        mode = await self._mode(ctx)
        placed = await self._guard.placement(ctx, call, command, mode, offline=offline)
        ctx.stash[_placement_key(command, call.arguments.get("workdir"))] = placed
        return placed.verdict

    def check(
        self, call: ToolCall, paths: Paths, ctx: Context | None = None
    ) -> CheckedCommand | None:
        """Return how a command would be treated, without the permission rules."""
        command = call.arguments.get("command")
        if call.name != TOOL or not isinstance(command, str):
            return None
        from hookline_sandbox import Method, found

        from .sandbox_runner import is_sandboxed_in_person

        if ctx is not None:
            sandboxed = self._is_sandboxed(ctx, None)
        else:
            sandboxed = is_sandboxed_in_person(self.config.sandbox)
        sandboxed = sandboxed and found().method is not Method.NONE
        sandboxed = sandboxed and call.arguments.get("outside") is not True
        verdict = self._guard.dangerous_verdict(command)
        if verdict is None and not sandboxed:
            verdict = Ask("it would run without a sandbox", command, answered_by_rules=True)
        return CheckedCommand(verdict, sandboxed)

    async def has_running(self, session: Session) -> bool:
        """Return True if the session has background jobs."""
        return bool(await self._jobs.running(session))

    async def count_running(self, session: Session) -> int:
        """Return the number of running background jobs of the session and its sub-agents."""
        return sum(job.is_running for job in await self._jobs.of_chat(session))

    async def commands(self, session: Session) -> list[BackgroundCommand]:
        """Return the background jobs of the session and its sub-agents."""
        return [job.described() for job in await self._jobs.of_chat(session)]

    async def _mode(self, ctx: Context) -> Mode | None:
        modes = self.host.services.get(Modes)
        return await modes.get(ctx.session.id) if modes is not None else None

    async def covers_operator(self) -> bool:
        """Whether commands that the operator requests at the terminal are sandboxed."""
        from hookline_sandbox import Method, found

        if self.config.sandbox.enabled is False:
            return False
        here = await asyncio.to_thread(found)
        return here.method is not Method.NONE or self.config.sandbox.enabled is True

    def _is_sandboxed(self, ctx: Context, mode: Mode | None) -> bool:
        from .sandbox_runner import is_sandboxed

        return mode == "yolo" or is_sandboxed(self.config.sandbox, ctx)

    def effects(self, ctx: Context, call: ToolCall) -> Sequence[Effect]:
        """What a call of ``bash`` may do; anything, if the plugin permissions is off."""
        if not isinstance(call.arguments.get("command"), str):
            return ()
        reader = self.host.services.get(CommandEffects)
        return reader.effects(call, ctx.paths) if reader is not None else (Effect("unknown"),)

    @tool(origin="workspace", effects=effects)
    async def bash(
        self,
        ctx: Context,
        command: str,
        timeout: float | None = None,  # noqa: ASYNC109 - what the model calls it
        workdir: str | None = None,
        outside: bool = False,
        reason: str | None = None,
    ) -> ToolOutput:
        """Run a bash command, without input or terminal. A process started with & goes on.

        Args:
            timeout: seconds (default 120, max 600)
            outside: not in the sandbox; a person is asked, and reads the reason
        """
        if timeout is not None and timeout <= 0:
            raise ToolError("timeout is a number of seconds above 0; leave it out for the default")
        seconds = min(timeout or self.config.timeout, self.config.max_timeout)
        if not command.strip():
            raise ToolError("the command is empty; say what to run")
        if "\0" in command:
            raise ToolError("a command cannot contain a NUL character; remove it")
        folder = ctx.paths.resolve(workdir) if workdir else ctx.paths.workspace
        if not folder.is_dir():
            raise ToolError(f"workdir {workdir or folder} is not a folder; name one that exists")
        placed = ctx.stash.get(_placement_key(command, workdir))
        leaves = placed is not None and placed.place == "outside"
        if outside and not leaves:
            await self._require_person(ctx)
        done = await self._run(ctx, command, folder, seconds, outside=outside or leaves)
        if placed is not None and placed.note:
            done = replace(done, notes=(*done.notes, placed.note))
        return await self._result(ctx, command, seconds, done)

    async def _run(
        self, ctx: Context, command: str, folder: Path, seconds: float, *, outside: bool
    ) -> SandboxedResult:
        from .command_runner import Command, CommandResult, find_shell, run_on_host
        from .sandbox_runner import OFFLINE, SandboxedResult

        argv, environment = [find_shell(), "-c", command], self._environment(outside=outside)
        to_run = Command(argv, folder, environment, seconds, self.config.max_output)
        offline = await self._offline.contains(ctx.session.id)
        if outside and offline:  # it was cut off after the command was approved
            raise ToolError(f"nothing was run: {OFFLINE}")
        if not offline and not self._is_sandboxed(ctx, await self._mode(ctx)):
            return SandboxedResult(await run_on_host(to_run), self._origins(ctx, command))
        if outside:
            done = await self._sandbox_runner.run_outside(ctx, to_run)
            return replace(done, origins=self._origins(ctx, command))
        # A sandbox does not see what runs outside of it.
        if job := await self._jobs.job_to_kill(ctx.session, command):
            await self._jobs.end(job)
            return SandboxedResult(CommandResult("", 0, False), (Origin("workspace", TOOL),))
        done = await self._sandbox_runner.run(ctx, to_run, offline=offline)
        if _moves_workspace(done, ctx.paths.workspace):
            return replace(done, notes=(*done.notes, FIXED_WORKSPACE))
        return done

    async def _require_person(self, ctx: Context) -> None:
        """Raise ``ToolError`` if no person can have let the command leave the sandbox."""
        from .sandbox_runner import outside_refusal

        mode = await self._mode(ctx)
        if self._is_sandboxed(ctx, mode) and (refusal := outside_refusal(ctx, mode)):
            raise ToolError(refusal)

    def _origins(self, ctx: Context, command: str) -> tuple[Origin, ...]:
        """The addresses that an unsandboxed command may have reached, by its words."""
        effects = self.effects(ctx, ToolCall("", TOOL, {"command": command}))
        network = [effect for effect in effects if effect.kind in ("network", "send")]
        origins = {Origin("outside", effect.target or TOOL): None for effect in network}
        return tuple(origins) or (Origin("workspace", TOOL),)

    def _environment(self, *, outside: bool = False) -> dict[str, str]:
        """The variables of commands, without values from the home's ``.env``: listed names, or
        outside of the sandbox the person's own but for secrets."""
        from hookline_sandbox import allowed, without_secrets

        variables = self.host.env
        stored = [value for name, value in variables.items() if name not in os.environ]
        chosen = (without_secrets if outside else allowed)(variables, self.config.env_allow, stored)
        named = {*self.config.env_allow} & variables.keys()
        return chosen | {n: v for n, v in _WITHOUT_TERMINAL.items() if n not in named}

    async def _result(
        self, ctx: Context, command: str, seconds: float, done: SandboxedResult
    ) -> ToolOutput:
        result, session = done.result, ctx.session
        text = result.text
        if text and not text.endswith("\n"):
            text += "\n"
        if result.timed_out:
            text += f"[timed out after {seconds:g} s]\n"
        text += f"[exit code {result.exit_code}]"
        if result.job is not None:
            now = self.host.now()
            self._jobs.add(session, command, result.job, now, in_sandbox=done.in_sandbox)
        jobs = await self._jobs.running(session)
        notes = done.notes
        if jobs:
            shown = ", ".join(map(str, jobs))
            notes += (f"running in the background: {shown}; end one with kill -- -PID",)
        data = {
            "exit_code": result.exit_code,
            "timed_out": result.timed_out,
            "jobs": [job.pid for job in jobs],
        }
        ok = result.exit_code == 0
        # The model's text may be cut later; `shown` keeps the whole for people.
        return ToolOutput(text, ok=ok, notes=notes, data=data, origins=done.origins, shown=text)

    def _check(self) -> CheckResult:
        from .command_runner import find_shell

        try:
            shell = find_shell()
        except ToolError as error:
            return CheckResult(False, str(error), "Install bash, then restart Hookline.")
        if not self.config.dangerous_patterns:
            return CheckResult(
                True,
                "dangerous_patterns is empty: only the permission rules apply",
                "Remove `dangerous_patterns: []` from the settings of the plugin shell to restore "
                "the built-in list.",
                hint=True,
            )
        return CheckResult(True, f"commands run in {shell}")

    def _check_sandbox(self) -> CheckResult:
        from .sandbox_runner import check_sandbox

        return check_sandbox(self.config.sandbox)


def _moves_workspace(done: SandboxedResult, workspace: Path) -> bool:
    """True if a command failed because it tried to move or delete the workspace itself."""
    name = workspace.name
    return bool(done.result.exit_code) and any(
        line.endswith(IMMOVABLE) and ("move" in line or "remove" in line) and name in line
        for line in done.result.text.splitlines()
    )


def _placement_key(command: str, workdir: object) -> str:
    """Where the turn's stash keeps what was decided about a call."""
    return f"placement {workdir or ''}\0{command}"
