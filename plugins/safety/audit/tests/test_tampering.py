"""Changes in the database are found, and the first broken row is named."""

from __future__ import annotations

import pytest

from .conftest import Home


def the_row(seq: int) -> str:
    """The condition of the row with a place in the chain."""
    where = f"SELECT 1 FROM audit_seals s WHERE s.seq = {seq}"
    return f"EXISTS ({where} AND s.node = audit_rows.node AND s.n = audit_rows.n)"


def test_unchanged_rows_verify(worked: Home) -> None:
    code, found = worked.verify()
    assert (code, found["ok"], found["rows"]) == (0, True, len(worked.rows()))
    assert found["checkpoints"] >= 1


@pytest.mark.slow
def test_changed_row_is_named(worked: Home) -> None:
    worked.sql(f"UPDATE audit_rows SET verdict = 'denied' WHERE {the_row(4)}")
    code, found = worked.verify()
    assert (code, found["what"], found["seq"]) == (1, "changed", 4)
    said = worked.cli("audit verify")
    assert said.exit_code == 1
    assert "row 4" in said.stdout


def test_deleted_row_is_named(worked: Home) -> None:
    worked.sql(f"DELETE FROM audit_rows WHERE {the_row(3)}")
    code, found = worked.verify()
    assert (code, found["what"], found["seq"]) == (1, "deleted", 3)


def test_moved_rows_are_named(worked: Home) -> None:
    for before, after in ((2, -1), (3, 2), (-1, 3)):
        worked.sql("UPDATE audit_seals SET seq = ? WHERE seq = ?", after, before)
    code, found = worked.verify()
    assert (code, found["what"], found["seq"]) == (1, "moved", 2)


def test_inserted_row_is_named(worked: Home) -> None:
    worked.sql(
        "INSERT INTO audit_rows (node, n, at, channel, session, turn, kind, verdict, kid, body) "
        "SELECT node, 99, at, channel, session, turn, kind, 'approved', kid, body "
        f"FROM audit_rows WHERE {the_row(2)}"
    )
    code, found = worked.verify()
    assert (code, found["what"]) == (1, "inserted")


@pytest.mark.slow
def test_truncated_chain_is_found_by_the_checkpoint(worked: Home) -> None:
    last = len(worked.rows())
    for seq in (last - 1, last):
        worked.sql(f"DELETE FROM audit_rows WHERE {the_row(seq)}")
        worked.sql("DELETE FROM audit_seals WHERE seq = ?", seq)
    code, found = worked.verify()
    assert (code, found["what"], found["seq"]) == (1, "truncated", last - 1)
