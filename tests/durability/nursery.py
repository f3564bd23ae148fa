"""Starts ``hookline`` quickly: every process is forked from one that has imported the libraries.

Half of a cold start is spent importing the SDKs. Only third-party modules are imported beforehand;
Hookline itself, and with it whatever it reads from its environment, is imported in each process.

Run as a script it serves requests, a line each: a JSON list of the processes to run at the same
time, each ``{"arguments", "env", "folder", "out", "err", "stdin"}``, the last three being files. It
answers with the list of their return codes, negative for a signal.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import inspect
import json
import os
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn

LIBRARIES = (
    *("aiosql", "anthropic", "asyncio", "blinker", "concurrent.futures.thread", "httpx2"),
    *("logging.handlers", "openai", "openai.types.responses", "pluggy", "pydantic", "sqlite3"),
    *("stevedore", "typer", "typer.main", "yaml"),
)
LONGEST = 50
"""Seconds until a process that does not end is killed (return code -14); none takes so long."""


@dataclass(frozen=True)
class Birth:
    """A process to run: it reads the file ``stdin``; its output goes to ``out`` and ``err``."""

    arguments: Sequence[str]
    env: Mapping[str, str]
    folder: Path
    out: Path
    err: Path
    stdin: Path = Path(os.devnull)


class Nursery:
    """The serving process, seen from a test."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            env={**os.environ, "LANG": "C.UTF-8", "PYTHONPATH": ""},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def run(self, *births: Birth) -> list[int]:
        """Run ``hookline`` in so many processes at once, to their end; the return codes."""
        line = json.dumps([asdict(birth) for birth in births], default=str) + "\n"
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(line.encode())
        self._process.stdin.flush()
        codes: list[int] = json.loads(self._process.stdout.readline())
        return codes

    def close(self) -> None:
        """End the serving process."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def serve() -> None:
    """Fork a process for each request until there are no more."""
    sys.path.pop(0)  # the folder of this script
    for name in LIBRARIES:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    inspect.getmodule(serve.__code__)  # lists all modules, as pydantic will for each of its models
    gc.freeze()
    while line := _line():
        children = [_child(request) for request in json.loads(line)]
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        os.write(1, json.dumps(codes).encode() + b"\n")


def _child(request: dict[str, Any]) -> int:
    child = os.fork()
    if not child:
        become(request)
    return child


def _line() -> bytes:
    """A line from standard input, with nothing read ahead that a child would inherit."""
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(0, 1)):
        line += byte
    return line


def become(request: dict[str, Any]) -> NoReturn:
    """Be ``python -m hookline`` with this environment; does not return."""
    signal.alarm(LONGEST)
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()
    os.chdir(request["folder"])
    for number, name, flags in (
        (0, request["stdin"], os.O_RDONLY),
        (1, request["out"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        (2, request["err"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
    ):
        os.dup2(os.open(name, flags, 0o600), number)
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[:0] = [request["folder"], *paths]
    sys.argv = ["hookline", *request["arguments"]]
    code: Any = 0
    try:
        runpy.run_module("hookline", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(int(code or 0))  # taking all those modules apart again would cost more than the run


if __name__ == "__main__":
    serve()
