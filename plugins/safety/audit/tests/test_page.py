"""The page of the audit log."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from hookline.testing import calls
from hookline.testing.pages import PageClient
from hookline_audit import AuditPlugin

from .conftest import Make, Works


def _read(cell: Any) -> str:
    return str(getattr(cell, "text", cell))


def test_rows_are_in_words_and_their_details_have_the_ids(harness: Make) -> None:
    with closing(harness(AuditPlugin, Works, model=[calls("add", left=1, right=2), "3"])) as h:
        site = PageClient(h)
        site.say("add")
        rows = site.get("/audit?person=web:mia").parts[-1].rows
    assert [[_read(cell) for cell in row.cells[1:5]] for row in reversed(rows)] == [
        ["mia (web page)", "message", "mia (web page)", "accepted"],
        ["mia (web page)", "model", "model", "called tools"],
        ["mia (web page)", "tool", "add", "ran"],
        ["mia (web page)", "model", "model", "answered"],
    ]
    assert rows[-1].detail.startswith("message=")
    assert rows[0].detail.startswith("model=")
