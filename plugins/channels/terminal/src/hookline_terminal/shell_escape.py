"""``!command``: the person's own command, run by their own right, with its output on the screen.

It is no tool: no model can call it, no channel but this terminal has it, and nobody is asked. What
it printed goes with the person's next message.
"""

from __future__ import annotations

import asyncio
import codecs
import os
import re
import shutil
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hookline_markdown import literal

KEPT = 10_000
"""Characters of the beginning and of the end of an output that the conversation gets."""
GRACE = 2.0
"""Seconds between SIGTERM and SIGKILL."""
_LAST_WORDS = 0.3
"""Seconds that output may still come after the shell has ended; what it left running goes on."""
_CODES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")


@dataclass(frozen=True, slots=True)
class Ran:
    """A command of the person, and what came of it."""

    command: str
    text: str
    code: int

    @property
    def told(self) -> str:
        """What the model reads."""
        output = self.text if not self.text or self.text.endswith("\n") else f"{self.text}\n"
        return f"{output}[exit code {self.code}]"


class ShellEscape:
    """Runs one command at a time.

    Args:
        folder: where commands run.
        show: writes a line of output.
        ended: told what a command came to.
    """

    def __init__(
        self, folder: Path, show: Callable[[str], None], ended: Callable[[Ran], None]
    ) -> None:
        self._folder = folder
        self._show = show
        self._ended = ended
        self._task: asyncio.Task[None] | None = None
        self._process: asyncio.subprocess.Process | None = None

    @property
    def is_running(self) -> bool:
        """Whether a command is running."""
        return self._task is not None and not self._task.done()

    def start(self, command: str) -> None:
        """Run ``command``; there must be none running."""
        self._task = asyncio.get_running_loop().create_task(self._run(command))

    def stop(self) -> bool:
        """End the running command; False if there is none."""
        if not self.is_running:
            return False
        if self._process is not None:
            _signal(self._process.pid, signal.SIGTERM)
            asyncio.get_running_loop().call_later(GRACE, _signal, self._process.pid, signal.SIGKILL)
        return True

    async def close(self) -> None:
        """End what is running, at once."""
        if self._task is None or self._task.done():
            return
        if self._process is not None:
            _signal(self._process.pid, signal.SIGKILL)
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self, command: str) -> None:
        shell = os.environ.get("SHELL") or shutil.which("bash") or "/bin/sh"
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
        output = _Output(self._show)
        assert process.stdout is not None
        reading = asyncio.get_running_loop().create_task(output.read(process.stdout))
        try:
            code = await process.wait()
            await asyncio.wait([reading], timeout=_LAST_WORDS)
        finally:
            reading.cancel()
            self._process = None
        output.end()
        code = code if code >= 0 else 128 - code
        if code:
            self._show(f"[exit code {code}]")
        self._ended(Ran(command, output.kept, code))


class _Output:
    """Shows whole lines as they come and keeps the beginning and the end."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._line = ""
        self._head = ""
        self._tail = ""
        self._length = 0

    @property
    def kept(self) -> str:
        """The output, without its middle if it is long."""
        left_out = self._length - len(self._head) - len(self._tail)
        if left_out <= 0:
            return self._head + self._tail
        return f"{self._head}\n[… {left_out} characters left out]\n{self._tail}"

    async def read(self, stream: asyncio.StreamReader) -> None:
        """Take in what is printed, to its end."""
        while data := await stream.read(65_536):
            self._take(self._decoder.decode(data))

    def end(self) -> None:
        """Show a last line that lacks its newline."""
        self._take(self._decoder.decode(b"", final=True))
        if self._line:
            self._put(self._line)
            self._line = ""

    def _take(self, text: str) -> None:
        *lines, self._line = (self._line + text).split("\n")
        for line in lines:
            self._put(f"{line}\n")

    def _put(self, line: str) -> None:
        # A line that a program wrote over, such as a progress bar, counts as it was at the end.
        plain = _CODES.sub("", line).removesuffix("\n").removesuffix("\r").rpartition("\r")[2]
        self._show(literal(plain))
        text = plain + ("\n" if line.endswith("\n") else "")
        self._length += len(text)
        room = KEPT - len(self._head)
        self._head += text[: max(0, room)]
        self._tail = (self._tail + text[max(0, room) :])[-KEPT:]


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)
