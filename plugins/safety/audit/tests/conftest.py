"""A home with the plugin, and access to its database as an attacker would have it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_audit import AuditPlugin
from hookline_hookspecs import Deny, Plugin, ToolCall, hookimpl, tool
from hookline_hookspecs.audit import note

Make = Callable[..., Harness]


class Works(Plugin):
    """Tools: one that only reads, one that asks for approval, one that adds its own row."""

    @tool(read_only=True)
    def add(self, left: int, right: int) -> str:
        """Add two numbers."""
        return str(left + right)

    @tool(approval="it is dangerous")
    def launch(self, what: str) -> str:
        """Launch something."""
        return f"launched {what}"

    @tool
    def query(self, sql: str) -> str:
        """Ask a database."""
        note(self.host, "sql", "prod", "ran", detail={"sql": sql})
        return "3 rows"

    @hookimpl
    def pre_tool(self, ctx: Any, call: ToolCall) -> Deny | None:
        """Deny adding 13."""
        return Deny("13 is unlucky") if call.arguments.get("left") == 13 else None


class Home:
    """A home on disk, with commands, rows and the database as it lies there."""

    def __init__(self, path: Path, make: Make) -> None:
        self.path = path
        self.make = make

    def cli(self, arguments: str) -> Any:
        """Run a command as another process would, after the others have ended."""
        with closing(Harness(AuditPlugin, home=self.path)) as other:
            return other.cli(arguments)

    def rows(self, more: str = "") -> list[dict[str, Any]]:
        """The rows of ``audit show --json``."""
        text = self.cli(f"audit show --json {more}").stdout
        return [json.loads(line) for line in text.splitlines()]

    def verify(self) -> tuple[int, dict[str, Any]]:
        """The exit code of ``audit verify`` and what it found."""
        done = self.cli("audit verify --json")
        return done.exit_code, json.loads(done.stdout)

    def sql(self, statement: str, *params: Any) -> Sequence[Any]:
        """Run a statement in the database, past the audit."""
        named = {f"p{number}": value for number, value in enumerate(params)}
        for name in named:
            statement = statement.replace("?", f":{name}", 1)
        with closing(Harness(home=self.path)) as other:

            async def run() -> Any:
                store = (await other.aopen()).engine.store
                if statement.startswith("SELECT"):
                    return await store.read(lambda db: db.fetch(statement, named))
                return await store.write(lambda db: db.execute(statement, named))

            return other.run(run())


@pytest.fixture
def home(tmp_path: Path, harness: Make) -> Home:
    """An empty home."""
    path = tmp_path / "home"
    path.mkdir()
    return Home(path, harness)


@pytest.fixture
def worked(home: Home) -> Home:
    """A home in which three turns were made."""
    model = [calls("add", left=1, right=2), "three", calls("query", sql="SELECT 1"), "done", "fine"]
    with closing(Harness(AuditPlugin, Works, home=home.path, model=model)) as h:
        for text in ("add", "ask the database", "thanks"):
            h.send(text)
    return home
