"""The last step before a sandboxed program: sets its limits and other settings from inside."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from hookline_hookspecs.own_programs import own_program

from .limits import Limits

PORT = 3128
"""Port of the sandbox's loopback that leads to the proxy (squid's usual port)."""


@cache
def interpreter() -> Path:
    """Return the real path of Python; the files that it needs are beside it (:func:`needed`)."""
    return Path(sys.executable).resolve()


@cache
def needed() -> tuple[Path, ...]:
    """Return folders that the interpreter and this package's code inside need."""
    return (Path(sys.base_prefix).resolve(), Path(__file__).parent.resolve() / "inside")


def inside(call: str) -> str:
    """Return code that calls a function of a module in ``inside``."""
    folder, module = str(Path(__file__).parent.resolve()), call.partition(".")[0]
    return f"import sys; sys.path.insert(0, {folder!r}); from inside import {module}; {call}"


def started(
    argv: Sequence[str], limits: Limits, proxy: Path | None = None, local_ports: Sequence[int] = ()
) -> list[str]:
    """Return the command line that sets ``limits``, opens ``proxy`` and becomes ``argv``.

    ``local_ports`` of this machine are reached through the proxy at the same ports.
    """
    bash = own_program("bash", path="/usr/bin:/bin")
    if bash and proxy is None:
        return limits.shell(bash, argv)
    return by_python(argv, limits, proxy=proxy, local_ports=local_ports)


def by_python(
    argv: Sequence[str],
    limits: Limits,
    *,
    proxy: Path | None = None,
    local_ports: Sequence[int] = (),
    landlock: Mapping[str, list[str]] | None = None,
) -> list[str]:
    """Return such a command line with Python, which can also apply Landlock."""
    settings: dict[str, Any] = {
        "limits": limits.values(),
        "proxy": str(proxy) if proxy else None,
        "port": PORT,
        "local_ports": list(local_ports),
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
