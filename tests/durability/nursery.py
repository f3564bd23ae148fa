"""Starts ``hookline`` quickly: every process is forked from one that has imported the libraries.

Half of a cold start is spent importing the SDKs. Only third-party modules are imported beforehand;
Hookline itself, and with it whatever it reads from its environment, is imported in each process.

Run as a script it serves requests, one JSON object a line:
``{"arguments", "env", "folder", "out", "err"}``, the last two being files, and answers each with
the return code, negative for a signal.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

LIBRARIES = (
    *("aiosql", "anthropic", "asyncio", "blinker", "concurrent.futures.thread", "httpx2"),
    *("logging.handlers", "openai", "openai.types.responses", "pluggy", "pydantic", "sqlite3"),
    *("stevedore", "typer", "typer.main", "yaml"),
)
LONGEST = 50
"""Seconds until a process that does not end is killed (return code -14); none takes so long."""


class Nursery:
    """The serving process, seen from a test."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def run(
        self, arguments: Sequence[str], env: Mapping[str, str], folder: Path, out: Path, err: Path
    ) -> int:
        """Run ``hookline`` to its end; the return code."""
        request = {"arguments": list(arguments), "env": dict(env), "folder": str(folder)}
        line = json.dumps({**request, "out": str(out), "err": str(err)}) + "\n"
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(line.encode())
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

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
    gc.freeze()
    while line := _line():
        child = os.fork()
        if not child:
            become(json.loads(line))
        _, status = os.waitpid(child, 0)
        os.write(1, b"%d\n" % os.waitstatus_to_exitcode(status))


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
    os.chdir(request["folder"])
    for number, name, flags in (
        (0, os.devnull, os.O_RDONLY),
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
