"""Runs the plugin's commands as the program does."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import Harness

Run = Callable[..., Any]
ARGUMENTS = {
    "hooks": ("name",),
    "info": ("name",),
    "purge": ("name",),
    "sessions": ("action", "words"),
    "trace": ("session",),
}
"""The options of a command that are arguments."""


def call(h: Harness, command: str, options: dict[str, Any]) -> Any:
    """Run ``hookline COMMAND`` with these options."""
    words = ["plugins", command] if command in ("info", "purge") else [command]
    arguments = [options.pop(name, None) for name in ARGUMENTS.get(command, ())]
    for value in arguments:
        words += value if isinstance(value, list) else [value] if value is not None else []
    for name, value in options.items():
        words += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    return h.cli(shlex.join(words))


@pytest.fixture
def run() -> Run:
    """``run(h, "trace", session="a")``: what the command writes to stdout."""

    def shown(h: Harness, command: str, **options: Any) -> str:
        done = call(h, command, options)
        assert done.exit_code == 0, done.stderr
        return done.stdout

    return shown


@pytest.fixture
def data(run: Run) -> Run:
    """The same, with ``--json``."""

    def read(h: Harness, command: str, **options: Any) -> Any:
        return json.loads(run(h, command, json=True, **options))

    return read


@pytest.fixture
def refused() -> Run:
    """Exit code and sentence of a command that ends with one."""

    def ended(h: Harness, command: str, **options: Any) -> tuple[Any, str]:
        done = call(h, command, options)
        assert done.stdout == ""
        return done.exit_code, done.stderr

    return ended
