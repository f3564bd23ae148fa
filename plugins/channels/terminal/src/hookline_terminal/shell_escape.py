"""``!command``: runs a command of the person with their own rights and shows its output.

It is not a tool: models cannot call it, other channels do not have it, and it needs no approval.
Its output is added to the person's next message.
"""

from __future__ import annotations

import asyncio
import codecs
import os
import re
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hookline_hookspecs import Context, ContextBlock, Origin, OriginKind, Refused, ToolCall
from hookline_hookspecs.own_programs import own_program
from hookline_markdown import literal

from .activity import format_duration

MAX_EDGE_CHARS = 10_000
"""Characters kept of the beginning and of the end of the output."""
KILL_TIMEOUT = 2.0
"""Seconds between SIGTERM and SIGKILL."""
_OUTPUT_TIMEOUT = 0.3
"""Seconds for more output after the shell has ended; background processes keep running."""
TAG = "attached-context"
"""The element of the turn's context for what the person added."""
_CODES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")


def own_shell() -> str:
    """Return the person's shell."""
    return os.environ.get("SHELL") or own_program("bash") or "/bin/sh"


@dataclass(frozen=True, slots=True)
class ShellRun:
    """A command of the person, its output and exit code."""

    command: str
    text: str
    code: int

    @property
    def model_text(self) -> str:
        """The result as the model reads it."""
        output = self.text if not self.text or self.text.endswith("\n") else f"{self.text}\n"
        return f"{output}[exit code {self.code}]"


class ShellEscape:
    """Runs one command at a time.

    Args:
        folder: the working directory.
        show: writes a line of output.
        ended: called with the result of each command.
    """

    def __init__(
        self, folder: Path, show: Callable[[str], None], ended: Callable[[ShellRun], None]
    ) -> None:
        self._folder = folder
        self._show = show
        self._ended = ended
        self._task: asyncio.Task[None] | None = None
        self._process: asyncio.subprocess.Process | None = None
        self.command = ""
        """The command that runs, or ran last."""
        self._started = 0.0
        self._is_stopped = False

    @property
    def seconds(self) -> float:
        """The seconds since the start of the command."""
        return time.monotonic() - self._started

    @property
    def is_running(self) -> bool:
        """Whether a command is running."""
        return self._task is not None and not self._task.done()

    def start(self, command: str) -> None:
        """Run ``command``. No other may be running."""
        self.command, self._started, self._is_stopped = command, time.monotonic(), False
        self._task = asyncio.get_running_loop().create_task(self._run(command))

    def stop(self) -> bool:
        """End the running command; returns False if there is none."""
        if not self.is_running:
            return False
        self._is_stopped = True
        if self._process is not None:
            _signal(self._process.pid, signal.SIGTERM)
            loop = asyncio.get_running_loop()
            loop.call_later(KILL_TIMEOUT, _signal, self._process.pid, signal.SIGKILL)
        return True

    async def close(self) -> None:
        """Kill the running command."""
        if self._task is None or self._task.done():
            return
        if self._process is not None:
            _signal(self._process.pid, signal.SIGKILL)
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self, command: str) -> None:
        shell = own_shell()
        try:
            self._process = process = await asyncio.create_subprocess_exec(
                *(shell, "-c", command),
                cwd=self._folder,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            self._show(f"{shell} could not be started: {error.strerror}.")
            return
        output = _CommandOutput(self._show)
        assert process.stdout is not None
        reading = asyncio.get_running_loop().create_task(output.read(process.stdout))
        try:
            code = await process.wait()
            await asyncio.wait([reading], timeout=_OUTPUT_TIMEOUT)
        finally:
            reading.cancel()
            self._process = None
        output.end()
        code = code if code >= 0 else 128 - code
        if self._is_stopped:
            self._show(f"[stopped after {format_duration(self.seconds, whole=True)}]")
        elif code:
            self._show(f"[exit code {code}]")
        self._ended(ShellRun(command, output.text, code))


class _CommandOutput:
    """Shows output line by line and keeps its beginning and end."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._line = ""
        self._head = ""
        self._tail = ""
        self._length = 0

    @property
    def text(self) -> str:
        """The output, without its middle if it is long."""
        left_out = self._length - len(self._head) - len(self._tail)
        if left_out <= 0:
            return self._head + self._tail
        return f"{self._head}\n[… {left_out} characters left out]\n{self._tail}"

    async def read(self, stream: asyncio.StreamReader) -> None:
        """Read the output to its end."""
        while data := await stream.read(65_536):
            self._feed(self._decoder.decode(data))

    def end(self) -> None:
        """Show a last line without a newline."""
        self._feed(self._decoder.decode(b"", final=True))
        if self._line:
            self._add_line(self._line)
            self._line = ""

    def _feed(self, text: str) -> None:
        *lines, self._line = (self._line + text).split("\n")
        for line in lines:
            self._add_line(f"{line}\n")

    def _add_line(self, line: str) -> None:
        # Of a line that was overwritten, such as a progress bar, only the last state counts.
        plain = _CODES.sub("", line).removesuffix("\n").removesuffix("\r").rpartition("\r")[2]
        self._show(literal(plain))
        text = plain + ("\n" if line.endswith("\n") else "")
        self._length += len(text)
        room = MAX_EDGE_CHARS - len(self._head)
        self._head += text[: max(0, room)]
        self._tail = (self._tail + text[max(0, room) :])[-MAX_EDGE_CHARS:]


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


async def shell_context(ctx: Context, runs: Sequence[ShellRun]) -> ContextBlock | None:
    """Return the context block with the commands and their output; None if all were refused."""
    items: list[tuple[str, str]] = []
    origins: dict[Origin, None] = {}
    for run in runs:
        try:
            text = await ctx.read(run.model_text, f"!{run.command}", "reference")
        except Refused as reason:
            ctx.notify(f"the output of {run.command} is not attached: {reason}")
            continue
        items.append((run.command, text))
        origins[Origin(_origin(ctx, run.command), f"!{run.command}"[:200])] = None
    if not items:
        return None
    intro = "The person ran these commands in their own shell, not through you."
    return ContextBlock(TAG, intro, tuple(items), "command", origins=tuple(origins))


def _origin(ctx: Context, command: str) -> OriginKind:
    """Return ``outside`` if the command may have reached the network, else ``workspace``."""
    effects = ctx.effects(ToolCall("", "bash", {"command": command}))
    reached = any(effect.kind in ("network", "send") for effect in effects)
    return "outside" if reached else "workspace"
