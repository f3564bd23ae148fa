"""Erasing and pruning; the other rows still verify."""

from __future__ import annotations

from contextlib import closing

import pytest
from hookline.testing import Clock, Harness
from hookline_audit import AuditPlugin

from .conftest import Home


@pytest.mark.slow
def test_erased_chat_is_unreadable_and_still_verifies(worked: Home) -> None:
    rows = worked.rows()
    assert worked.cli("audit erase terminal:default").exit_code == 2
    assert worked.cli("audit erase terminal:nowhere --yes").exit_code == 1
    assert worked.cli("audit erase terminal:default --yes").exit_code == 0
    after = worked.rows()
    assert [row["state"] for row in after] == ["erased"] * len(rows) + ["ok"]
    assert {row["actor"] for row in after[:-1]} == {""}
    assert (after[-1]["kind"], after[-1]["verdict"]) == ("access", "erased")
    code, found = worked.verify()
    assert (code, found["erased"]) == (0, len(rows))
    assert not worked.sql("SELECT kid FROM audit_keys WHERE chat <> ?", worked_key(worked))


def worked_key(home: Home) -> str:
    """The pseudonym of the chat."""
    keys = home.sql("SELECT chat FROM audit_keys")
    return str(keys[0]["chat"])


def test_missing_key_without_an_erasure_is_reported(worked: Home) -> None:
    worked.sql("DELETE FROM audit_keys")
    code, found = worked.verify()
    assert (code, found["what"]) == (1, "unknown_key")


def test_row_forged_with_an_erased_key_is_reported(worked: Home) -> None:
    rows = worked.rows()
    assert worked.cli("audit erase terminal:default --yes").exit_code == 0
    assert worked.verify()[0] == 0
    worked.sql(
        "INSERT INTO audit_rows (node, n, at, channel, session, turn, kind, verdict, kid, body) "
        "SELECT 'forged', 1, at, channel, session, turn, kind, 'allowed', kid, body "
        "FROM audit_rows ORDER BY at LIMIT 1"
    )
    code, found = worked.verify()
    assert (code, found["what"], found["erased"]) == (1, "inserted", len(rows) + 1)


@pytest.mark.slow
def test_deleting_the_last_session_of_a_chat_erases_it(worked: Home) -> None:
    from importlib.metadata import entry_points

    inspect = entry_points(group="hookline.plugins")["inspect"].load()
    with closing(Harness(AuditPlugin, inspect, home=worked.path)) as h:
        assert h.cli("sessions delete test --yes").exit_code == 0
    states = [row["state"] for row in worked.rows()]
    assert "erased" in states
    deleted, erased = worked.rows()[-2:]
    assert (deleted["object"], deleted["verdict"]) == ("a session", "deleted")
    assert erased["verdict"] == "erased"
    assert worked.verify()[0] == 0


@pytest.mark.slow
def test_prune_removes_old_rows_and_moves_the_start_of_the_chain(
    worked: Home, clock: Clock
) -> None:
    rows = worked.rows()
    clock.ahead(401 * 86400)
    assert f"Removed {len(rows)} rows." in worked.cli("audit prune").stdout
    assert worked.rows() == []
    assert worked.verify()[0] == 0
    with closing(Harness(AuditPlugin, home=worked.path, model=["hi"])) as h:
        h.send("hello again")
    code, found = worked.verify()
    assert (code, found["first"]) == (0, len(rows) + 1)
    worked.sql("UPDATE audit_state SET value = replace(value, 'sha', 'sHa') WHERE name = 'anchor'")
    code, found = worked.verify()
    assert (code, found["what"]) == (1, "anchor")


def test_grants_accept_only_plain_names(home: Home) -> None:
    told = home.cli("audit grants app --owner boss").stdout
    assert "GRANT SELECT, INSERT ON public.audit_rows, public.audit_seals TO app;" in told
    assert "UPDATE" not in told.partition("audit_keys")[0]
    assert home.cli("audit grants 'app; DROP TABLE x'").exit_code == 2


@pytest.mark.parametrize("way", ["SELECT", "INSERT"])
def test_grants_on_rows_are_only_select_and_insert(home: Home, way: str) -> None:
    [line] = [
        one
        for one in home.cli("audit grants app").stdout.splitlines()
        if one.startswith("GRANT") and "audit_rows" in one
    ]
    assert way in line
    assert "DELETE" not in line
