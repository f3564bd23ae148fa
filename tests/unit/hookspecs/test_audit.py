"""Plugins write to the audit if there is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hookline.testing import Harness
from hookline_hookspecs import Host, Plugin, hookimpl, tool
from hookline_hookspecs.audit import Audit, note

Make = Callable[..., Harness]


class Query(Plugin):
    """Asks a database, and says so."""

    @tool
    def query(self, sql: str) -> str:
        """Ask a database."""
        note(self.host, "sql", "prod", "ran", detail={"sql": sql}, approver="terminal:ann")
        return "3 rows"


class Book(Plugin):
    """Keeps the entries it gets."""

    @hookimpl
    def setup(self, host: Host) -> None:
        """Offer the service."""
        self.rows: list[tuple[Any, ...]] = []
        host.services.provide(Audit, self)

    def note(self, kind: str, what: str, verdict: str = "", **more: Any) -> None:
        """Keep a row."""
        self.rows.append((kind, what, verdict, more))

    def approved(self, session_id: str, approver: str) -> None:
        """Nothing is asked here."""


def test_plugin_audit_entry_reaches_the_audit(harness: Make) -> None:
    h = harness(Query, Book, model=[])
    h.plugin(Query).query("SELECT 1")
    more = {"detail": {"sql": "SELECT 1"}, "ctx": None, "actor": "", "approver": "terminal:ann"}
    assert h.plugin(Book).rows == [("sql", "prod", "ran", more)]


def test_plugin_works_without_an_audit(harness: Make) -> None:
    assert harness(Query, model=[]).plugin(Query).query("SELECT 1") == "3 rows"
