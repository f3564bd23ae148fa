"""The last step before a sandboxed program: its limits, and what else is set from within."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from .limits import Limits

PORT = 3128
"""Of the sandbox's own loopback, where the way to the proxy begins (squid's customary port)."""


@cache
def interpreter() -> Path:
    """Python's program, links followed: what it needs lies beside it (:func:`needed`)."""
    return Path(sys.executable).resolve()


@cache
def needed() -> tuple[Path, ...]:
    """Folders that the interpreter and this package's own part inside need."""
    return (Path(sys.base_prefix).resolve(), Path(__file__).parent.resolve() / "inside")


def inside(call: str) -> str:
    """Code that calls a function of a module of ``inside``, which imports nothing else of ours."""
    folder, module = str(Path(__file__).parent.resolve()), call.partition(".")[0]
    return f"import sys; sys.path.insert(0, {folder!r}); from inside import {module}; {call}"


def started(argv: Sequence[str], limits: Limits, proxy: Path | None = None) -> list[str]:
    """The command line that sets ``limits``, opens the way to ``proxy`` and becomes ``argv``."""
    bash = shutil.which("bash", path="/usr/bin:/bin")
    if bash and proxy is None:
        return limits.shell(bash, argv)
    return by_python(argv, limits, proxy=proxy)


def by_python(
    argv: Sequence[str],
    limits: Limits,
    *,
    proxy: Path | None = None,
    landlock: Mapping[str, list[str]] | None = None,
) -> list[str]:
    """The same by Python, which also puts on Landlock."""
    settings: dict[str, Any] = {
        "limits": limits.values(),
        "proxy": str(proxy) if proxy else None,
        "port": PORT,
        "landlock": landlock,
    }
    return [
        str(interpreter()),
        "-I",
        "-S",
        "-c",
        inside("start.main()"),
        json.dumps(settings),
        *argv,
    ]
