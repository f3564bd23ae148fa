"""Databases of the tests, and a model that asks them."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_databases import Databases
from hookline_hookspecs import ToolResult
from support import mariadb

HERE = Path(__file__).parent
SHOP = HERE.joinpath("shop.sql").read_text("utf-8")
"""The tables of every engine, in SQL that all of them take."""
_ESCAPE = re.compile(r"\\(?:u([0-9a-f]{4})|(n)|(\\))")


def statements(*names: str) -> list[str]:
    """The lines of files in ``statements/``; ``\\uXXXX``, ``\\n`` and ``\\\\`` are escapes."""
    lines = [
        line
        for name in names
        for line in HERE.joinpath("statements", f"{name}.sql").read_text("utf-8").splitlines()
        if line
    ]
    return [_ESCAPE.sub(_unescaped, line) for line in lines]


def _unescaped(found: re.Match[str]) -> str:
    return chr(int(found[1], 16)) if found[1] else "\n" if found[2] else "\\"


class DatabaseChat:
    """A harness whose model runs the queries of a test."""

    def __init__(self, h: Harness) -> None:
        self.h = h
        self._sessions = 0

    def ask(self, tool: str, **arguments: Any) -> ToolResult:
        """Have the model call one tool, in a session of its own; the tool's result."""
        self._sessions += 1
        self.h.model.steps += [calls(tool, **arguments), "done"]
        return self.h.send("ask it", session=f"s{self._sessions}").tool_calls[-1]

    def query(self, sql: str, db: str = "shop") -> str:
        """The text of ``db_query``."""
        return self.ask("db_query", db=db, sql=sql).text


@pytest.fixture
def make_chat(harness: Callable[..., Harness]) -> Callable[..., DatabaseChat]:
    """``make_chat(url)`` has one database, ``shop``; more settings of it by name."""

    def make(
        url: object,
        *others: Any,
        plugin: dict[str, Any] | None = None,
        answers: Sequence[str] = (),
        **shop: Any,
    ) -> DatabaseChat:
        connections = {"shop": {"url": str(url), **shop}}
        config = {"connections": connections, **(plugin or {})}
        return DatabaseChat(
            harness(Databases, *others, config={"databases": config}, answers=answers)
        )

    return make


def made_sqlite(file: Path) -> Path:
    """A SQLite database with a small shop."""
    connection = sqlite3.connect(file)
    connection.executescript(SHOP)
    connection.close()
    return file


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A SQLite database with a small shop, in a folder of its own."""
    folder = tmp_path / "data"
    folder.mkdir()
    return made_sqlite(folder / "shop.db")


@pytest.fixture(scope="session")
def maria_server() -> Iterator[mariadb.Server]:
    """The MariaDB server of this process's tests."""
    try:
        with mariadb.server() as server:
            yield server
    except mariadb.NoMariaDB as error:
        pytest.skip(str(error))


def fingerprint(folder: Path) -> dict[str, str]:
    """Every file below a folder and what is in it."""
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }
