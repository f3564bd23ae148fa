"""Runs the real ``hookline`` as a user would, and reads its JSON lines as they come."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from threading import Timer
from typing import Any

from .interrupts import delay_interrupts
from .stage import Stage

Line = dict[str, Any]
RUN_TIMEOUT = 60.0
"""Seconds a run may take before it is stopped; it needs about three."""
SHUTDOWN_TIMEOUT = 5.0
"""Seconds that a stopped run has to shut down."""


@dataclass(frozen=True)
class RunResult:
    """How a run ended. ``code`` is negative after a signal: -9 is SIGKILL."""

    code: int
    timed_out: bool


def command(*arguments: str) -> list[str]:
    """A command line of ``hookline`` for the running interpreter."""
    return [sys.executable, "-m", "hookline", *arguments]


def run(
    stage: Stage,
    arguments: Sequence[str],
    each: Callable[[Line], None],
    variables: Mapping[str, str],
    stdin: int = subprocess.DEVNULL,
) -> RunResult:
    """Run ``hookline ARGUMENTS`` in the project; ``each`` gets every JSON object it prints.

    ``variables`` are set for this run on top of the stage's environment; ``stdin`` is a file
    descriptor that it reads.

    It runs in its own process session, so that Ctrl-C reaches it only once, from here, and it can
    end its own processes. The run has always ended when this function returns or raises.
    """
    timed_out = False
    options = {"stdin": stdin, "stdout": subprocess.PIPE, "start_new_session": True}
    with (
        stage.log.open("wb") as log,
        started(stage, command(*arguments), variables, stderr=log, **options) as process,
    ):

        def too_long() -> None:
            nonlocal timed_out
            timed_out = True
            _end(process)

        timer = Timer(RUN_TIMEOUT, too_long)
        try:
            timer.start()
            assert process.stdout is not None
            for raw in process.stdout:
                line = parsed(raw)
                if line is not None:
                    each(line)
            return RunResult(process.wait(), timed_out)
        finally:
            timer.cancel()


@contextmanager
def started(
    stage: Stage, arguments: Sequence[str], variables: Mapping[str, str], **options: Any
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process in the project; it has always ended at the end of the block.

    ``variables`` are set on top of the stage's environment; ``options`` are those of ``Popen``.
    """
    with ExitStack() as stack:
        with delay_interrupts():
            process = stack.enter_context(
                subprocess.Popen(
                    arguments,
                    cwd=stage.project,
                    env=stage.environment() | dict(variables),
                    **{"stdin": subprocess.DEVNULL, **options},
                )
            )
            stack.callback(_end, process)
        yield process


def parsed(raw: bytes) -> Line | None:
    """Parse one line of output as a JSON object; None if it is not one."""
    try:
        line = json.loads(raw)
    except ValueError:
        return None
    return line if isinstance(line, dict) else None


def ask(stage: Stage, *arguments: str) -> Any:
    """Return what ``hookline ARGUMENTS`` prints as JSON, or None if it fails."""
    with suppress(ValueError):
        return json.loads(_printed(stage, arguments))
    return None


def ask_lines(stage: Stage, *arguments: str) -> list[Line]:
    """Return the JSON objects that ``hookline ARGUMENTS`` prints, one per line; other lines are
    skipped."""
    found = (parsed(raw) for raw in _printed(stage, arguments).splitlines())
    return [line for line in found if line is not None]


def _printed(stage: Stage, arguments: Sequence[str]) -> bytes:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with started(stage, command(*arguments), {}, **pipes) as process:
        return process.communicate(timeout=RUN_TIMEOUT)[0]


def _end(process: subprocess.Popen[bytes]) -> None:
    """Interrupt the process, wait, then kill it. A second Ctrl-C while waiting kills it at once."""
    if process.poll() is not None:
        return
    with suppress(ProcessLookupError, OSError):
        if os.name == "posix":
            process.send_signal(signal.SIGINT)
        else:
            process.terminate()
    try:
        process.wait(SHUTDOWN_TIMEOUT)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        process.kill()
        process.wait()
