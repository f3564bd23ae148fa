"""A home whose config has a comment at every place where one can stand."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness
from hookline.testing.command_line import CliResult
from hookline_configure import Configure

RunCli = Callable[..., CliResult]
WRITTEN = """\
# my config

model: anthropic/claude-sonnet-4-5  # the good one
session:   # how long
  # a day
  idle_hours: 24
  max_days: 30 # a month
# who answers
providers:
  openai: {base_url: http://localhost:8080/v1, api_key: ${KEY}}  # local
plugins:
  # notes
  memory:
    # room
    notes_max_chars: 2200   # characters
    # after notes
  titles: false  # dull
  telegram: {token: ${BOT:-none}, admins: ["a # b", 'c']}
# the end
"""


@pytest.fixture
def configured(harness: Callable[..., Harness], monkeypatch: pytest.MonkeyPatch) -> Harness:
    """A harness with this plugin and with :data:`WRITTEN`."""
    monkeypatch.setenv("KEY", "sk-12345")
    made = harness(Configure)
    made.home.mkdir(parents=True, exist_ok=True)
    (made.home / "config.yaml").write_text(WRITTEN)
    return made


@pytest.fixture
def path(configured: Harness) -> Path:
    """config.yaml."""
    return configured.home / "config.yaml"


@pytest.fixture
def line(configured: Harness) -> RunCli:
    """Runs ``hookline`` with these words."""

    def run(*words: Any) -> CliResult:
        return configured.cli(shlex.join(words))

    return run


@pytest.fixture
def process(configured: Harness) -> RunCli:
    """As :func:`line`, in a process of its own, as a person runs it with a wrong config."""

    def run(*words: Any) -> CliResult:
        done = subprocess.run(
            [sys.executable, "-m", "hookline", "--home", configured.home, *words],
            env={name: text for name, text in os.environ.items() if "HOOKLINE_" not in name},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        return CliResult(done.returncode, done.stdout, done.stderr)

    return run
