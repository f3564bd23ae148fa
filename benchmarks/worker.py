"""A measuring process as seen from both ends: one JSON object a line, on stdin and stdout.

The parent (:class:`Worker`) starts a script, gives it a job, reads what the script reports
about itself, and then asks for samples one by one; so two scripts can take turns without either
running while the other is measured. The script's end is :func:`work`.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from time import perf_counter, process_time
from types import TracebackType
from typing import Any, TypeAlias

HERE = Path(__file__).parent
Sample: TypeAlias = "Callable[[], Awaitable[Mapping[str, float]]]"
"""Takes one sample: numbers by name."""
Side: TypeAlias = "Callable[[Any], AbstractAsyncContextManager[tuple[Mapping[str, Any], Sample]]]"
"""Prepares a job; gives what the script reports about itself, and how a sample is taken."""


class Worker:
    """A script of this folder in a process of its own; a context manager."""

    def __init__(self, script: str, job: Mapping[str, Any]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._name = script
        self.report: Mapping[str, Any] = self._ask(job)

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)

    def sample(self) -> Mapping[str, float]:
        """One sample."""
        return self._ask({})

    def _ask(self, question: Mapping[str, Any]) -> Mapping[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"benchmarks: {self._name} ended early; its error stands above")
        answer: Mapping[str, Any] = json.loads(line)
        return answer


async def timed(turns: int, work: Awaitable[object]) -> Mapping[str, float]:
    """Run ``work``, which is ``turns`` turns; seconds a turn by the clock and of processor time.

    Processor time is that of all threads of this process; other programs hardly change it.
    """
    start, used = perf_counter(), process_time()
    await work
    return {"seconds": (perf_counter() - start) / turns, "cpu": (process_time() - used) / turns}


def work(side: Side) -> None:
    """Be a worker: read a job, prepare it, answer each further line with a sample."""
    asyncio.run(_work(side, json.loads(sys.stdin.readline())))


async def _work(side: Side, job: Any) -> None:
    async with side(job) as (report, sample):
        _print_line(report)
        # On a thread, so that what a turn leaves to do in the background is done meanwhile.
        while await asyncio.to_thread(sys.stdin.readline):
            _print_line(await sample())


def _print_line(answer: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
