"""A home with the plugins that own imported data, and ``hookline migrate`` on it."""

from __future__ import annotations

import json
import shlex
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from hookline.testing import Harness, calls
from hookline_access import AccessControl
from hookline_context_files import ContextFiles
from hookline_hookspecs import Host
from hookline_memory import Memory
from hookline_migrate import Migrate
from hookline_redact import Redact
from hookline_scheduler import Scheduler
from hookline_session_search import SessionSearch
from hookline_skills import Skills
from hookline_threat_scan import ThreatScan
from hookline_user_model import UserModel

PLUGINS = (
    Migrate, AccessControl, Redact, ThreatScan, ContextFiles, Memory, UserModel, Skills, Scheduler,
    SessionSearch,
)  # fmt: skip
Rows = list[dict[str, Any]]
SEARCHES = [[calls("session_search", query="reactor codename", scope="all")], "It is Zirconwhale."]


class MigrationHome:
    """A home and the commands on it; ``old`` is the other program's home."""

    def __init__(self, make: Callable[..., Harness], tmp_path: Path) -> None:
        self.home, self.old = tmp_path / "home", tmp_path / "old"
        self._make = make
        self.h = make(*PLUGINS, home=self.home, model=SEARCHES)

    @property
    def host(self) -> Host:
        """The plugin's host."""
        return self.h.plugin(Migrate).host

    def run(self, words: str, code: int = 0) -> str:
        """``hookline WORDS``; what it prints, or its error where one is expected."""
        done = self.h.cli(words)
        assert done.exit_code == code, done.stderr + done.stdout
        return done.stdout or done.stderr

    def rows(self, verb: str, program: str, more: str = "", code: int = 0) -> Rows:
        """The rows of ``hookline migrate VERB PROGRAM --json``."""
        if verb != "undo":
            more += f" --from {shlex.quote(str(self.old))}"
        if verb == "apply":
            more += " --no-backup"
        found: Rows = json.loads(self.run(f"migrate {verb} {program} --json {more}", code))
        return found

    def texts(self) -> list[str]:
        """What was said, in the order it is stored."""
        with closing(sqlite3.connect(self.home / "hookline.db")) as database:
            return [row[0] for row in database.execute("SELECT text FROM messages ORDER BY rowid")]

    def write(self, path: str, content: Any) -> None:
        """A file of the other program's home; what is no text becomes JSON."""
        file = self.old / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")


def states(rows: Rows) -> dict[str, list[str]]:
    """The states by kind."""
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(row["kind"], []).append(row["state"])
    return found


def database(path: Path, *statements: str) -> sqlite3.Connection:
    """A new database."""
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    for one in statements:
        connection.execute(one)
    return connection
