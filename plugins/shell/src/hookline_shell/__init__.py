"""The ``bash`` tool and its judge.

:class:`Shell` is the plugin: the tool runs commands (``running``, ``processes``, ``jobs``), its
``pre_tool`` hook has every command judged first (``judge``).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import cached_property
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
    ToolResult,
    hookimpl,
    tool,
)

from .config import ShellConfig

if TYPE_CHECKING:
    from .jobs import Jobs
    from .judge import Judge
    from .running import Outcome

__all__ = ["Shell", "ShellConfig"]
TOOL = "bash"


class Shell(Plugin[ShellConfig]):
    """Runs commands for the model, after a judge has read them."""

    _jobs: Jobs

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

    @hookimpl
    async def teardown(self, host: Host) -> None:
        """End the background jobs."""
        await self._jobs.end_all()

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """A check of the pattern list and of the shell."""
        register(Check("shell", self._check))

    @hookimpl
    def pre_tool(self, ctx: Context, call: ToolCall) -> Deny | Ask | None:
        """The judge's verdict on a call of ``bash``."""
        if call.name != TOOL:
            return None
        command = call.arguments.get("command")
        if not isinstance(command, str):
            return None  # the tool's own check of its arguments answers this
        workdir = call.arguments.get("workdir")
        return self._judge.judge(command, ctx.paths, workdir if isinstance(workdir, str) else "")

    @tool
    async def bash(
        self,
        ctx: Context,
        command: str,
        timeout: float | None = None,  # noqa: ASYNC109 - the model's own words
        workdir: str | None = None,
    ) -> ToolResult:
        """Run a bash command; stdout and stderr come back together, then the exit code.

        No input, no terminal. A process started with & goes on; its pid is told.

        Args:
            timeout: seconds (default 120, at most 600)
            workdir: default: the workspace
        """
        from .environment import filtered
        from .running import run

        if timeout is not None and timeout <= 0:
            raise ToolError("timeout is a number of seconds above 0; leave it out for the default")
        seconds = min(timeout or self.config.timeout, self.config.max_timeout)
        if "\0" in command:
            raise ToolError("a command cannot hold a NUL character; take it out")
        folder = ctx.paths.resolve(workdir) if workdir else ctx.paths.workspace
        if not folder.is_dir():
            raise ToolError(f"workdir {workdir or folder} is no folder; name one that exists")
        environment = filtered(os.environ, self.config.env_allow)
        outcome = await run(command, folder, environment, seconds, self.config.max_output)
        return self._result(ctx, command, seconds, outcome)

    def _result(self, ctx: Context, command: str, seconds: float, outcome: Outcome) -> ToolResult:
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
        # Core puts the real call in place of this one; a tool does not know it.
        call = ToolCall("", TOOL, {"command": command})
        data = {
            "exit_code": outcome.exit_code,
            "timed_out": outcome.timed_out,
            "jobs": [job.pid for job in jobs],
        }
        return ToolResult(call, text, ok=outcome.exit_code == 0, notes=notes, data=data)

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
