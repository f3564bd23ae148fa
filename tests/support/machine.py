"""A machine with only Hookline on it: a home, a workspace, an empty environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from .processes import store_environment

PATIENCE = 50
"""Seconds until a process that does not end is killed; no test waits for it to pass."""
FIRST_REQUEST_TOKENS = 3000
"""What the first request of a fresh session may cost, in characters / 4."""


@dataclass(frozen=True)
class Finished:
    """A process that has ended."""

    code: int
    out: str
    err: str

    @property
    def events(self) -> list[dict[str, Any]]:
        """Standard output as JSON lines."""
        return [json.loads(line) for line in self.out.rstrip("\n").split("\n") if line]

    @property
    def json(self) -> Any:
        """Standard output as one JSON value."""
        return json.loads(self.out)

    @property
    def result(self) -> dict[str, Any]:
        """The last JSON line."""
        return self.events[-1]


@dataclass
class Machine:
    """Runs the command line. ``env`` is added to every call's environment."""

    home: Path
    workspace: Path
    env: dict[str, str] = field(default_factory=dict)
    without: dict[str, str] = field(default_factory=lambda: {"HOOKLINE_PLUGINS__TITLES": "false"})
    """Switches a plugin off that asks the model by itself and takes a step of its script."""

    def run(
        self,
        *arguments: str | Path,
        env: Mapping[str, str] | None = None,
        stdin: str | bytes | None = None,
    ) -> Finished:
        """Run ``hookline`` with these arguments to its end; without ``stdin`` that is closed."""
        process = self.start(*arguments, env=env, stdin=subprocess.PIPE if stdin else None)
        return self.wait(process, stdin)

    def start(
        self, *arguments: str | Path, env: Mapping[str, str] | None = None, stdin: int | None = None
    ) -> subprocess.Popen[bytes]:
        """Start ``hookline`` and leave it running."""
        return subprocess.Popen(
            [sys.executable, "-m", "hookline", *map(str, arguments)],
            cwd=self.workspace,
            env=self.environment() | dict(env or {}),
            stdin=stdin if stdin is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    @staticmethod
    def wait(process: subprocess.Popen[bytes], stdin: str | bytes | None = None) -> Finished:
        """Wait until a process ends."""
        sent = stdin.encode() if isinstance(stdin, str) else stdin
        try:
            out, err = process.communicate(sent, timeout=PATIENCE)
        finally:
            process.kill()
        return Finished(process.returncode, out.decode(), err.decode())

    def wait_for(self, name: str) -> None:
        """Wait until a file of this name is in the workspace."""
        until = time.monotonic() + PATIENCE
        while not (self.workspace / name).exists():
            assert time.monotonic() < until, f"{name} never came"
            time.sleep(0.02)

    def environment(self) -> dict[str, str]:
        """What a process sees: no key, no proxy, no folder of the person who runs the tests."""
        names = ("PATH", "PYTHONPATH")
        kept = {name: os.environ[name] for name in names if name in os.environ}
        own = {"HOME": str(self.home.parent), "HOOKLINE_HOME": str(self.home), "LANG": "C.UTF-8"}
        return kept | store_environment() | own | self.without | self.env

    def config(self, text: str) -> Path:
        """Write ``config.yaml``."""
        self.home.mkdir(mode=0o700, exist_ok=True)
        path = self.home / "config.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    def script(self, *steps: Mapping[str, Any], name: str = "script.yaml") -> str:
        """Write a scripted model's steps; returns its model name."""
        text = yaml.safe_dump({"steps": [dict(step) for step in steps]}, allow_unicode=True)
        (self.home.parent / name).write_text(text, encoding="utf-8")
        return f"scripted/{self.home.parent / name}"

    def messages(self, session: str) -> list[dict[str, Any]]:
        """The stored messages of a session."""
        exported = self.run("sessions", "export", session)
        assert exported.code == 0, exported.err
        return exported.events

    def said(self, session: str) -> list[tuple[str, str]]:
        """Role and text of the stored messages of a session."""
        return [
            (message["role"], "".join(b.get("text") or "" for b in message["blocks"]))
            for message in self.messages(session)
        ]


def is_sentence(text: str) -> bool:
    """True for a message to a person: one short line without a stack trace."""
    return "Traceback" not in text and bool(text.strip()) and len(text.strip().splitlines()) <= 2
