"""The ``bash`` tool and its judge.

:class:`Shell` is the plugin: the tool runs commands (``running``, ``processes``, ``jobs``), its
``pre_tool`` hook has every command judged first (``judge``).
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from hookline_hookspecs import (
    Ask,
    Check,
    CheckResult,
    Context,
    Deny,
    Host,
    Plugin,
    ToolCall,
    ToolError,
    ToolOutput,
    hookimpl,
    tool,
)

from .config import ShellConfig

if TYPE_CHECKING:
    from .jobs import Jobs
    from .judge import Judge
    from .running import Outcome
    from .sandbox import Sandbox

__all__ = ["Shell", "ShellConfig"]
TOOL = "bash"


class Shell(Plugin[ShellConfig]):
    """Runs commands for the model, after a judge has read them."""

    _jobs: Jobs
    _sandbox: Sandbox | None

    @cached_property
    def _judge(self) -> Judge:
        """Made at the first command: the parser and the tables cost start-up time."""
        from .judge import Judge

        return Judge([re.compile(p) for p in self.config.dangerous_patterns])

    @hookimpl
    def setup(self, host: Host) -> None:
        """Nothing runs in the background yet."""
        from .jobs import Jobs

        self._jobs = Jobs()
        self._sandbox = None
        if self.config.sandbox.enabled:
            from .sandbox import Sandbox

            self._sandbox = Sandbox(self.config.sandbox, tuple(self.config.env_allow))

    @hookimpl
    async def teardown(self, host: Host) -> None:
        """End the background jobs."""
        await self._jobs.end_all()
        if self._sandbox is not None:
            self._sandbox.close()

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """A check of the pattern list and of the shell, and one of the sandbox."""
        register(Check("shell", self._check))
        register(Check("sandbox", self._check_sandbox))

    @hookimpl
    def pre_tool(self, ctx: Context, call: ToolCall) -> Deny | Ask | None:
        """The judge's verdict on a call of ``bash``."""
        if call.name != TOOL:
            return None
        command = call.arguments.get("command")
        if not isinstance(command, str):
            return None  # the tool's own check of its arguments answers this
        workdir = call.arguments.get("workdir")
        folder = workdir if isinstance(workdir, str) else ""
        return self._judge.judge(command, ctx.paths, folder, self.host.http.judge)

    @tool
    async def bash(
        self,
        ctx: Context,
        command: str,
        timeout: float | None = None,  # noqa: ASYNC109 - the model's own words
        workdir: str | None = None,
    ) -> ToolOutput:
        """Run a bash command; stdout and stderr come back together, then the exit code.

        No input, no terminal. A process started with & goes on; its pid is told.

        Args:
            timeout: seconds (default 120, at most 600)
            workdir: default: the workspace
        """
        if timeout is not None and timeout <= 0:
            raise ToolError("timeout is a number of seconds above 0; leave it out for the default")
        seconds = min(timeout or self.config.timeout, self.config.max_timeout)
        if not command.strip():
            raise ToolError("the command is empty; say what to run")
        if "\0" in command:
            raise ToolError("a command cannot hold a NUL character; take it out")
        folder = ctx.paths.resolve(workdir) if workdir else ctx.paths.workspace
        if not folder.is_dir():
            raise ToolError(f"workdir {workdir or folder} is no folder; name one that exists")
        outcome = await self._run(ctx, command, folder, seconds)
        return self._result(ctx, command, seconds, outcome)

    async def _run(self, ctx: Context, command: str, folder: Path, seconds: float) -> Outcome:
        from .environment import filtered
        from .running import Outcome, find_shell, run

        argv, environment = (
            [find_shell(), "-c", command],
            filtered(os.environ, self.config.env_allow),
        )
        if self._sandbox is not None:
            session = ctx.session.id
            if job := self._jobs.meant(session, command):  # it is not visible from inside
                await self._jobs.end(session, job)
                return Outcome("", 0, False, 0, "")
            await self._require_sandbox()
            argv = self._sandbox.wrap(argv, folder, ctx.paths, session)
            environment = self._sandbox.environment(environment)
        return await run(argv, folder, environment, seconds, self.config.max_output)

    async def _require_sandbox(self) -> None:
        from .sandbox import refusal

        if found := await asyncio.to_thread(refusal):
            raise ToolError(f"nothing was run: {found}")

    def _result(self, ctx: Context, command: str, seconds: float, outcome: Outcome) -> ToolOutput:
        from .jobs import Background

        session = ctx.session.id
        text = outcome.text
        if text and not text.endswith("\n"):
            text += "\n"
        if outcome.timed_out:
            text += f"[timed out after {seconds:g} s]\n"
        text += f"[exit code {outcome.exit_code}]"
        if outcome.left:
            self._jobs.add(session, Background(outcome.pid, outcome.mark, command))
        jobs = self._jobs.living(session)
        notes: tuple[str, ...] = ()
        if jobs:
            listed = ", ".join(map(str, jobs))
            notes = (f"running in the background: {listed}; end one with kill -- -PID",)
        data = {
            "exit_code": outcome.exit_code,
            "timed_out": outcome.timed_out,
            "jobs": [job.pid for job in jobs],
        }
        return ToolOutput(text, ok=outcome.exit_code == 0, notes=notes, data=data)

    def _check(self) -> CheckResult:
        from .running import find_shell

        try:
            shell = find_shell()
        except ToolError as error:
            return CheckResult(False, str(error), "Install bash and start again.")
        if not self.config.dangerous_patterns:
            return CheckResult(
                True,
                "dangerous_patterns is empty: nothing is checked beside the judge's own rules",
                "Take `dangerous_patterns: []` out of the shell plugin's settings to have the "
                "packaged list back.",
                hint=True,
            )
        return CheckResult(True, f"commands run in {shell}")

    def _check_sandbox(self) -> CheckResult:
        from .sandbox import refusal

        if not self.config.sandbox.enabled:
            return CheckResult(True, "off: commands run with all the rights of this account")
        refusal.cache_clear()  # the machine may have been changed since
        if found := refusal():
            return CheckResult(False, found.why, f"{found.fix[0].upper()}{found.fix[1:]}.")
        network = "with" if self.config.sandbox.network else "without"
        return CheckResult(True, f"works: commands run in bubblewrap, {network} the network")
