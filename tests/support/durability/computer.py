"""A computer with only Hookline on it, and readers of its store."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.processes import store_environment

PLUGINS = "plugins: {notebook: true, files: false, shell: false}\n"
"""The part of ``config.yaml`` that names plugins: those that cost time and do nothing here off."""

PATIENCE = 50
"""Seconds until a process that does not end is killed; no test waits for it to pass."""


@dataclass(frozen=True)
class Finished:
    """A process that has ended; ``code`` is negative for a signal."""

    code: int
    out: str
    err: str


@dataclass
class Computer:
    """Runs ``hookline`` with its home and its workspace in ``folder``; ``env`` goes to each run."""

    folder: Path
    env: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.workspace.mkdir()

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def workspace(self) -> Path:
        return self.folder / "work"

    @property
    def database(self) -> Path:
        return self.home / "hookline.db"

    def config(self, text: str) -> None:
        """Write ``config.yaml``."""
        self.home.mkdir(mode=0o700, exist_ok=True)
        (self.home / "config.yaml").write_text(text)

    def run(self, *arguments: str, **env: str) -> Finished:
        """Run ``hookline`` to its end."""
        return self.run_all([arguments], **env)[0]

    def run_all(self, calls: Sequence[Sequence[str]], **env: str) -> list[Finished]:
        """Run several ``hookline`` at the same time, to their end."""
        running = [self.start(*arguments, **env) for arguments in calls]
        return [finish(process) for process in running]

    def start(self, *arguments: str, **env: str) -> subprocess.Popen[str]:
        """Start ``hookline``; end it with :func:`finish`."""
        return subprocess.Popen(
            [sys.executable, "-m", "hookline", *arguments],
            cwd=self.workspace,
            env=self._environment(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def _environment(self, extra: Mapping[str, str]) -> dict[str, str]:
        base = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "LANG": "C.UTF-8"}
        # `titles` would ask the model once more, after a session's second message.
        own = {"HOOKLINE_HOME": str(self.home), "HOOKLINE_PLUGINS__TITLES": "false"}
        own["HOOKLINE_PLUGINS__USER_MODEL"] = "false"  # it asks the model beside the turns
        return base | store_environment() | own | self.env | dict(extra)

    def messages(self, session: str) -> list[dict[str, Any]]:
        """The messages of a session as they are stored, each with its ``turn``."""
        where = "WHERE session_id = ? ORDER BY seq"
        rows = self.rows(f"SELECT body, turn_id FROM messages {where}", session)
        return [{**json.loads(body), "turn": turn} for body, turn in rows]

    def exported(self, session: str) -> list[dict[str, Any]]:
        """The messages of a session as ``hookline sessions export`` gives them."""
        exported = self.run("sessions", "export", session)
        assert exported.code == 0, exported.err
        return [json.loads(line) for line in exported.out.splitlines()]

    def ran(self) -> list[str]:
        """Each run of a tool of the plugin ``notebook``, in order."""
        log = self.workspace / "ran.log"
        return log.read_text().splitlines() if log.exists() else []

    def rows(self, sql: str, *values: str) -> list[Any]:
        """What the database answers; single columns as plain values."""
        with closing(sqlite3.connect(self.database)) as db:
            found = db.execute(sql, values).fetchall()
        return [row[0] if len(row) == 1 else row for row in found]

    def is_whole(self) -> bool:
        """True if SQLite finds nothing wrong with the database."""
        return self.rows("PRAGMA integrity_check") == ["ok"]


def finish(process: subprocess.Popen[str]) -> Finished:
    """Wait until a process ends."""
    try:
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    return Finished(process.returncode, out, err)


def line_of(message: Mapping[str, Any]) -> str:
    """A stored message as a line to compare."""
    return f"{message['role']}: " + " | ".join(map(_block, message["blocks"]))


def _block(block: Mapping[str, Any]) -> str:
    if block["type"] == "tool_call":
        return f"→ {block['name']} {block['arguments'].get('line', '')}".rstrip()
    return f"← {block['text']}" if block["type"] == "tool_result" else str(block["text"])


def paired(messages: list[dict[str, Any]]) -> bool:
    """True if each tool call has exactly one result, in the message after its own."""
    asked: list[str] = []
    for message in messages:
        blocks = message["blocks"]
        answered = [b["call_id"] for b in blocks if b["type"] == "tool_result"]
        if answered != asked:
            return False
        asked = [b["id"] for b in blocks if b["type"] == "tool_call"]
    return not asked
