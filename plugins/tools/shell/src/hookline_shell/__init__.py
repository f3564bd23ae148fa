"""The ``bash`` tool and its judge.

:class:`Shell` is the plugin: the tool runs commands (``running``, ``processes``, ``jobs``), its
``pre_tool`` hook has every command judged first (``judge``).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from hookline_hookspecs import (
    Ask,
    Check,
    Checkpoints,
    CheckResult,
    Context,
    Deny,
    Effect,
    Host,
    Mode,
    Modes,
    Origin,
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
    from .judge import Judge, Setting
    from .running import Outcome
    from .sandbox import Apart

__all__ = ["Shell", "ShellConfig"]
TOOL = "bash"


class Shell(Plugin[ShellConfig]):
    """Runs commands for the model, after a judge has read them."""

    _jobs: Jobs

    @cached_property
    def _judge(self) -> Judge:
        """Made at the first command: the parser and the tables cost start-up time."""
        from .judge import Judge

        return Judge([re.compile(p) for p in self.config.dangerous_patterns], self.host.home)

    @cached_property
    def _apart(self) -> Apart:
        """Made at the first command that is sandboxed."""
        from .sandbox import Apart

        return Apart(self.config.sandbox, self.host)

    @hookimpl
    def setup(self, host: Host) -> None:
        """Nothing runs in the background yet."""
        from .jobs import Jobs

        self._jobs = Jobs()

    @hookimpl
    async def teardown(self, host: Host) -> None:
        """End the background jobs."""
        await self._jobs.end_all()
        if "_apart" in vars(self):
            self._apart.close()

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """A check of the pattern list and of the shell, and one of the sandbox."""
        register(Check("shell", self._check))
        register(Check("sandbox", self._check_sandbox))

    @hookimpl
    async def pre_tool(self, ctx: Context, call: ToolCall) -> Deny | Ask | None:
        """The judge's verdict on a call of ``bash``, and what a missing sandbox demands."""
        if call.name != TOOL:
            return None
        command, folder = _asked_for(call)
        if command is None:
            return None  # the tool's own check of its arguments answers this
        from .judge import Setting

        mode = await self._mode(ctx)
        wanted = self._is_sandboxed(ctx, mode)
        setting = Setting(operator=ctx.operator, sandboxed=wanted and self._apart.can_run)
        judged = self._judge.judge(command, ctx.paths, folder, self.host.http.judge, setting)
        if isinstance(judged, Ask) and mode != "plan":
            judged = await self._unless_held(ctx, command, folder, setting, judged)
        if isinstance(judged, Deny) or not wanted:
            return judged
        return _stricter(judged, self._apart.verdict(ctx, command, mode))

    async def _unless_held(
        self, ctx: Context, command: str, folder: str, setting: Setting, asked: Ask
    ) -> Ask | Deny | None:
        """No question about what a checkpoint can bring back, once it has been made."""
        checkpoints = self.host.services.get(Checkpoints)
        if checkpoints is None:
            return asked
        held = replace(setting, checkpoints=True)
        judged = self._judge.judge(command, ctx.paths, folder, self.host.http.judge, held)
        return asked if judged is not None or not await checkpoints.hold(ctx) else None

    async def _mode(self, ctx: Context) -> Mode | None:
        modes = self.host.services.get(Modes)
        return await modes.get(ctx.session.id) if modes is not None else None

    def _is_sandboxed(self, ctx: Context, mode: Mode | None) -> bool:
        from .sandbox import is_wanted

        return mode == "yolo" or is_wanted(self.config.sandbox, ctx)

    def effects(self, ctx: Context, call: ToolCall) -> Sequence[Effect]:
        """What a call of ``bash`` may do, as the judge reads it."""
        command, folder = _asked_for(call)
        if command is None:
            return ()
        return self._judge.effects(command, ctx.paths, folder, self.host.http.judge)

    @tool(origin="workspace", effects=effects)
    async def bash(
        self,
        ctx: Context,
        command: str,
        timeout: float | None = None,  # noqa: ASYNC109 - the model's own words
        workdir: str | None = None,
    ) -> ToolOutput:
        """Run a bash command, without input or terminal. A process started with & goes on.

        Args:
            timeout: seconds (default 120, at most 600)
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
        outcome, origins = await self._run(ctx, command, folder, seconds)
        return self._result(ctx, command, seconds, outcome, origins)

    async def _run(
        self, ctx: Context, command: str, folder: Path, seconds: float
    ) -> tuple[Outcome, tuple[Origin, ...]]:
        from hookline_toolmark import branding

        from .running import Outcome, find_shell, run

        bounds, session = (seconds, self.config.max_output), ctx.session.id
        argv, environment = [find_shell(), "-c", command], self._environment()
        if not self._is_sandboxed(ctx, await self._mode(ctx)):
            outcome = await run(branding(argv), folder, environment, *bounds)
            return outcome, self._origins(ctx, command)
        if job := self._jobs.meant(session, command):  # it is not visible from inside
            await self._jobs.end(session, job)
            return Outcome("", 0, False, 0, ""), (Origin("workspace", TOOL),)
        return await self._apart.run(ctx, argv, folder, environment, bounds)

    def _origins(self, ctx: Context, command: str) -> tuple[Origin, ...]:
        """Without a sandbox nobody counts what was reached; the judge says what may have been."""
        effects = self.effects(ctx, ToolCall("", TOOL, {"command": command}))
        reached = [effect for effect in effects if effect.kind in ("network", "send")]
        found = {Origin("outside", effect.target or TOOL): None for effect in reached}
        return tuple(found) or (Origin("workspace", TOOL),)

    def _environment(self) -> dict[str, str]:
        """What commands see: names that are listed, and no value of what home's ``.env`` holds."""
        from hookline_sandbox import allowed

        known = self.host.env
        stored = [value for name, value in known.items() if name not in os.environ]
        return allowed(known, self.config.env_allow, stored)

    def _result(
        self,
        ctx: Context,
        command: str,
        seconds: float,
        outcome: Outcome,
        origins: tuple[Origin, ...],
    ) -> ToolOutput:
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
        ok = outcome.exit_code == 0
        # What the model reads may be cut later; a person can see it all.
        return ToolOutput(text, ok=ok, notes=notes, data=data, origins=origins, shown=text)

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
        from .sandbox import checked

        return checked(self.config.sandbox)


def _stricter(judged: Ask | None, missing: Deny | Ask | None) -> Deny | Ask | None:
    """Both sentences where both ask."""
    if judged is None or isinstance(missing, Deny):
        return missing or judged
    if missing is None:
        return judged
    return replace(missing, reason=f"{judged.reason} {missing.reason}")


def _asked_for(call: ToolCall) -> tuple[str | None, str]:
    """The command of a call and the folder it names; None where the arguments are wrong."""
    command, workdir = call.arguments.get("command"), call.arguments.get("workdir")
    return (
        command if isinstance(command, str) else None,
        workdir if isinstance(workdir, str) else "",
    )
