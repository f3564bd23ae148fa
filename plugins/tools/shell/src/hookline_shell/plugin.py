"""The plugin: the tool ``bash``, and the hook ``pre_tool`` that judges every command first."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from hookline_hookspecs import (
    Ask,
    Check,
    CheckedCommand,
    Checkpoints,
    CheckResult,
    CommandCheck,
    CommandSandbox,
    Context,
    Deny,
    Effect,
    Host,
    Mode,
    Modes,
    Origin,
    Paths,
    PermissionRules,
    Plugin,
    Session,
    ToolCall,
    ToolError,
    ToolOutput,
    command,
    hookimpl,
    tool,
)

from .config import ShellConfig

if TYPE_CHECKING:
    from .background_jobs import BackgroundJobs
    from .judge import Judge, Setting
    from .sandbox_runner import SandboxedResult, SandboxRunner

TOOL = "bash"
_WITHOUT_TERMINAL = {
    "TERM": "dumb",
    "GIT_EDITOR": ":",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
}
"""Variables with which programs open no editor, pager or prompt (git(1), git-var(1))."""


class Shell(Plugin[ShellConfig]):
    """Runs commands for the model, after the judge has allowed them."""

    _jobs: BackgroundJobs

    @cached_property
    def _judge(self) -> Judge:
        """Created at the first command, because the parser and the tables take time to load."""
        from .judge import Judge

        return Judge([re.compile(p) for p in self.config.dangerous_patterns], self.host.home)

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
        host.services.provide(CommandSandbox, self)
        host.services.provide(CommandCheck, self)

    @hookimpl
    async def teardown(self, host: Host) -> None:
        """End the background jobs."""
        await self._jobs.end_all()
        if "_sandbox_runner" in vars(self):
            await self._sandbox_runner.close()

    @hookimpl
    async def end_of_session(self, ctx: Context, session: Session) -> None:
        """End what the session left running."""
        await self._jobs.end_session(session)
        if "_sandbox_runner" in vars(self):
            await self._sandbox_runner.end_session(session.id)

    @command("/jobs", audience="admins", immediate=True, category="Conversation")
    async def jobs(self, ctx: Context, args: str) -> str:
        """List background jobs: /jobs; /jobs N shows the output of one, /jobs stop N ends it."""
        from .jobs_command import answer

        return await answer(self._jobs, ctx.session, args, self.host.now())

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """Register a check of the shell with its pattern list, and one of the sandbox."""
        register(Check("shell", self._check))
        register(Check("sandbox", self._check_sandbox))

    @hookimpl
    async def pre_tool(self, ctx: Context, call: ToolCall) -> Deny | Ask | None:
        """The judge's verdict on a call of ``bash``, and that of a missing sandbox."""
        if call.name != TOOL:
            return None
        command, folder = _command_and_folder(call)
        if command is None:
            return None  # the tool reports wrong arguments itself
        from .judge import Setting

        mode = await self._mode(ctx)
        sandboxed = self._is_sandboxed(ctx, mode)
        outside: Deny | Ask | None = None
        if sandboxed and call.arguments.get("outside") is True:
            outside = self._sandbox_runner.outside_verdict(
                ctx, command, str(call.arguments.get("reason") or ""), mode
            )
            sandboxed = False
        setting = Setting(
            operator=ctx.operator, sandboxed=sandboxed and self._sandbox_runner.can_run
        )
        verdict = self._judge.judge(command, ctx.paths, folder, self.host.http.check_url, setting)
        if isinstance(verdict, Ask) and await self._is_allowed(ctx, call, command, verdict):
            verdict = None
        if isinstance(verdict, Ask) and self._judge.dangerous_words(command) is not None:
            verdict = replace(verdict, answered_by_rules=False)
        if isinstance(verdict, Ask) and mode != "plan":
            verdict = await self._unless_checkpointed(ctx, command, folder, setting, verdict)
        if isinstance(verdict, Deny) or not (sandboxed or outside):
            return verdict
        if outside is not None:
            return _stricter(verdict, outside)
        return _stricter(verdict, self._sandbox_runner.verdict(ctx, command, mode))

    async def _is_allowed(self, ctx: Context, call: ToolCall, command: str, asked: Ask) -> bool:
        """True if a permission rule answers the judge's question.

        None answers one that is asked each time, or one of ``dangerous_patterns``.
        """
        rules = self.host.services.get(PermissionRules)
        if rules is None or asked.once or self._judge.dangerous_words(command) is not None:
            return False
        return (await rules.verdict(ctx, call)).answers_guards

    def check(
        self, call: ToolCall, paths: Paths, ctx: Context | None = None
    ) -> CheckedCommand | None:
        """Return how a command would be treated, without the permission rules."""
        command, folder = _command_and_folder(call)
        if call.name != TOOL or command is None:
            return None
        from .judge import Setting
        from .sandbox_runner import is_sandboxed_in_person

        if ctx is not None:
            sandboxed = self._is_sandboxed(ctx, None)
        else:
            sandboxed = is_sandboxed_in_person(self.config.sandbox)
        setting = Setting(
            operator=ctx is None or ctx.operator,
            sandboxed=sandboxed and self._sandbox_runner.can_run,
        )
        judge = partial(self._judge.judge, command, paths, folder, self.host.http.check_url)
        verdict = judge(setting)
        restorable = isinstance(verdict, Ask) and judge(replace(setting, checkpoints=True)) is None
        return CheckedCommand(verdict, restorable, setting.sandboxed)

    async def _unless_checkpointed(
        self, ctx: Context, command: str, folder: str, setting: Setting, asked: Ask
    ) -> Ask | Deny | None:
        """Drop the question if a checkpoint covers the command and could be made."""
        checkpoints = self.host.services.get(Checkpoints)
        if checkpoints is None:
            return asked
        with_checkpoint = replace(setting, checkpoints=True)
        verdict = self._judge.judge(
            command, ctx.paths, folder, self.host.http.check_url, with_checkpoint
        )
        if verdict is not None or not await checkpoints.hold(ctx):
            return asked
        return None

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
        """What a call of ``bash`` may do, by the judge's analysis."""
        command, folder = _command_and_folder(call)
        if command is None:
            return ()
        return self._judge.effects(command, ctx.paths, folder, self.host.http.check_url)

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
        done = await self._run(ctx, command, folder, seconds, outside=outside)
        return await self._result(ctx, command, seconds, done)

    async def _run(
        self, ctx: Context, command: str, folder: Path, seconds: float, *, outside: bool
    ) -> SandboxedResult:
        from hookline_toolmark import mark_command

        from .command_runner import CommandResult, find_shell, on_host, run_command
        from .sandbox_runner import SandboxedResult, outside_refusal

        limits = (seconds, self.config.max_output)
        argv = [find_shell(), "-c", command]
        environment = self._environment()
        mode = await self._mode(ctx)
        is_sandboxed = self._is_sandboxed(ctx, mode)
        if is_sandboxed and outside and (refusal := outside_refusal(ctx, mode)):
            raise ToolError(refusal)
        if outside or not is_sandboxed:
            start = on_host(mark_command(argv), folder, environment)
            return SandboxedResult(await run_command(start, *limits), self._origins(ctx, command))
        # A sandbox does not see what runs outside of it.
        if job := await self._jobs.job_to_kill(ctx.session, command):
            await self._jobs.end(job)
            return SandboxedResult(CommandResult("", 0, False), (Origin("workspace", TOOL),))
        return await self._sandbox_runner.run(ctx, argv, folder, environment, limits)

    def _origins(self, ctx: Context, command: str) -> tuple[Origin, ...]:
        """The addresses that an unsandboxed command may have reached, according to the judge."""
        effects = self.effects(ctx, ToolCall("", TOOL, {"command": command}))
        network = [effect for effect in effects if effect.kind in ("network", "send")]
        origins = {Origin("outside", effect.target or TOOL): None for effect in network}
        return tuple(origins) or (Origin("workspace", TOOL),)

    def _environment(self) -> dict[str, str]:
        """The variables of commands: listed names, without values from the home's ``.env``."""
        from hookline_sandbox import allowed

        variables = self.host.env
        stored = [value for name, value in variables.items() if name not in os.environ]
        chosen = allowed(variables, self.config.env_allow, stored)
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
            return CheckResult(False, str(error), "Install bash and start again.")
        if not self.config.dangerous_patterns:
            return CheckResult(
                True,
                "dangerous_patterns is empty: only the judge's own rules apply",
                "Remove `dangerous_patterns: []` from the settings of the plugin shell to restore "
                "the packaged list.",
                hint=True,
            )
        return CheckResult(True, f"commands run in {shell}")

    def _check_sandbox(self) -> CheckResult:
        from .sandbox_runner import check_sandbox

        return check_sandbox(self.config.sandbox)


def _stricter(verdict: Ask | None, sandbox: Deny | Ask | None) -> Deny | Ask | None:
    """The stricter of two verdicts; if both ask, one question with both reasons."""
    if verdict is None or isinstance(sandbox, Deny):
        return sandbox or verdict
    if sandbox is None:
        return verdict
    return replace(sandbox, reason=f"{verdict.reason} {sandbox.reason}")


def _command_and_folder(call: ToolCall) -> tuple[str | None, str]:
    """The command of a call, None if it is not a string, and the folder that the call names."""
    command, workdir = call.arguments.get("command"), call.arguments.get("workdir")
    return (
        command if isinstance(command, str) else None,
        workdir if isinstance(workdir, str) else "",
    )
