"""``audit show``: questions of an auditor, and exports."""

from __future__ import annotations

import json
import re
from contextlib import closing
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_audit import AuditPlugin
from hookline_audit.entries import AuditEntry
from hookline_audit.export import FORMATS, export_lines
from hypothesis import given
from hypothesis import strategies as st

from .conftest import Home, Works

DELETED = "DELETE FROM orders WHERE id = 7"


@pytest.fixture
def asked(home: Home) -> Home:
    """A home where a launch was approved, and SQL ran in another turn."""
    model = [
        calls("launch", what="it"),
        "launched",
        calls("query", sql=DELETED),
        "gone",
        calls("query", sql="SELECT 2"),
        "two",
    ]
    with closing(
        Harness(AuditPlugin, Works, home=home.path, model=model, answers=["Allow once"])
    ) as h:
        for text in ("launch", "delete it", "look"):
            h.send(text)
    return home


def test_show_finds_who_ran_a_statement(asked: Home) -> None:
    [row] = asked.rows("--kind sql --find 'delete  from ORDERS'")
    assert (row["actor"], row["detail"]["sql"]) == ("terminal:tester", DELETED)
    everything = asked.rows("--find 'DELETE FROM orders' --turns")
    assert {one["turn"] for one in everything} == {row["turn"]}
    assert [one["kind"] for one in everything] == ["message", "model", "sql", "tool", "model"]


def test_show_finds_who_approved_a_call(asked: Home) -> None:
    [row] = asked.rows("--kind answer --find launch")
    assert (row["verdict"], row["approver"]) == ("approved", "terminal:tester")


@pytest.mark.slow
def test_show_lists_actions_of_a_person_on_a_day(asked: Home) -> None:
    every = asked.rows("--person terminal:tester")
    assert len(every) == len(asked.rows())
    day = every[0]["at"][:10]
    assert asked.rows("--person terminal:nobody") == []
    assert asked.rows("--person terminal:tester --day 2020-01-01") == []
    assert asked.rows("--until 2020-01-01") == []
    assert len(asked.rows(f"--since {day} --person terminal:tester")) == len(every)
    assert asked.cli("audit show --day yesterday").exit_code == 2
    assert asked.cli("audit show --day 2026-01-01 --since 7d").exit_code == 2
    assert asked.cli("audit show --kind nothing").exit_code == 2


@pytest.mark.slow
def test_exports_in_jsonl_otlp_and_syslog_have_the_same_rows(asked: Home) -> None:
    rows = asked.rows()
    exported = asked.cli("audit export --format jsonl").stdout.splitlines()
    assert [json.loads(line) for line in exported] == rows
    (line,) = asked.cli("audit export --format otlp").stdout.splitlines()
    wire = pytest.importorskip("opentelemetry.proto.collector.logs.v1.logs_service_pb2")
    json_format = pytest.importorskip("google.protobuf.json_format")
    request = json_format.Parse(line, wire.ExportLogsServiceRequest())
    records = request.resource_logs[0].scope_logs[0].log_records
    named = [
        {one.key.removeprefix("hookline.audit."): one.value for one in record.attributes}
        for record in records
    ]
    assert [one["sha"].string_value for one in named] == [row["sha"] for row in rows]
    assert [one["seq"].int_value for one in named] == [row["seq"] for row in rows]
    messages = asked.cli("audit export --format syslog").stdout.splitlines()
    assert [parsed(one)["sha"] for one in messages] == [row["sha"] for row in rows]
    assert len(asked.cli("audit export --kind sql").stdout.splitlines()) == 2
    assert asked.cli("audit export --format xml").exit_code == 2


PARAM = re.compile(r'(\w+)="((?:[^"\\\]]|\\.)*)"')


def parsed(message: str) -> dict[str, str]:
    """The structured data of a message, as RFC 5424 has it read."""
    head, _, rest = message.partition(" [hookline@32473 ")
    assert re.fullmatch(r"<1(08|09)>1 \S+ \S+ hookline \S+ [a-z]{1,32}", head), head
    found = {}
    while match := PARAM.match(rest):
        found[match[1]] = re.sub(r"\\(.)", r"\1", match[2])
        rest = rest[match.end() :].lstrip(" ")
    assert rest.startswith("] ")
    return found


@pytest.mark.slow
@given(st.text(st.characters(exclude_categories=["Cs"])), st.text(max_size=20))
def test_syslog_escapes_any_name_to_one_readable_line(name: str, verdict: str) -> None:
    stored: dict[str, Any] = {
        "seq": 1,
        "at": 1,
        "node": "host-1-ab",
        "n": 1,
        "channel": "x",
        "session": "",
        "turn": "",
        "kind": "tool",
        "verdict": verdict,
        "sha": "00",
    }
    personal = {"actor": name, "object": name, "detail": {"sql": name}}
    for format_ in FORMATS:
        (line,) = export_lines(format_, [AuditEntry(stored, personal, "ok")])
        assert len(line.splitlines()) == 1
        if format_ == "syslog" and name.isprintable():
            assert parsed(line).get("actor", "") == name
