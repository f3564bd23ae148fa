"""Rows for other programs: JSON lines, OpenTelemetry's logs, syslog."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .reading import Entry, shown_detail

FORMATS = ("jsonl", "otlp", "syslog")
BATCH = 500
"""Rows of one line of ``otlp``."""
REFUSED = frozenset({"denied", "failed"})
"""Verdicts that are a warning."""
AUDIT_FACILITY, NOTICE, WARNING = 13, 5, 4
"""RFC 5424, section 6.2.1."""
OTLP_INFO, OTLP_WARN = 9, 13
ENTERPRISE = "hookline@32473"
"""The name of the structured data; 32473 is the number for examples (RFC 5612)."""
ATTRIBUTES = (
    *("seq", "node", "n", "actor", "channel", "chat", "session", "turn", "kind", "object"),
    *("verdict", "approver", "state", "sha"),
)


def lines(format_: str, entries: Sequence[Entry]) -> list[str]:
    """Return rows in one of :data:`FORMATS`, at most :data:`BATCH` of them at once for otlp."""
    return _WRITERS[format_](entries)


def _jsonl(entries: Sequence[Entry]) -> list[str]:
    return [json.dumps(entry.as_dict()) for entry in entries]


def _otlp(entries: Sequence[Entry]) -> list[str]:
    """OTLP/JSON, an ``ExportLogsServiceRequest`` a line."""
    if not entries:
        return []
    scope = {"scope": {"name": "hookline.audit"}, "logRecords": [_record(one) for one in entries]}
    resource = {"attributes": [_attribute("service.name", "hookline")]}
    return [json.dumps({"resourceLogs": [{"resource": resource, "scopeLogs": [scope]}]})]


def _record(entry: Entry) -> dict[str, Any]:
    told = entry.as_dict()
    refused = told["verdict"] in REFUSED
    attributes = [
        _attribute(f"hookline.audit.{name}", told[name])
        for name in ATTRIBUTES
        if told[name] not in ("", None)
    ]
    attributes.append(_attribute("hookline.audit.detail", json.dumps(told["detail"])))
    return {
        "timeUnixNano": str(entry.stored["at"] * 1000),
        "severityNumber": OTLP_WARN if refused else OTLP_INFO,
        "severityText": "WARN" if refused else "INFO",
        "eventName": f"hookline.audit.{told['kind']}",
        "body": {"stringValue": _sentence(told)},
        "attributes": attributes,
    }


def _attribute(name: str, value: Any) -> dict[str, Any]:
    kind = "intValue" if isinstance(value, int) else "stringValue"
    return {"key": name, "value": {kind: str(value)}}


def _syslog(entries: Sequence[Entry]) -> list[str]:
    """RFC 5424, a message a line."""
    return [_message(entry) for entry in entries]


def _message(entry: Entry) -> str:
    told = entry.as_dict()
    severity = WARNING if told["verdict"] in REFUSED else NOTICE
    host, _, process = str(told["node"]).rpartition("-")[0].rpartition("-")
    data = " ".join(
        f'{name}="{_escaped(str(told[name]))}"'
        for name in ATTRIBUTES
        if told[name] not in ("", None)
    )
    detail = f' detail="{_escaped(json.dumps(told["detail"]))}"'
    head = f"<{AUDIT_FACILITY * 8 + severity}>1 {told['at']} {host or '-'} hookline"
    return f"{head} {process or '-'} {told['kind']} [{ENTERPRISE} {data}{detail}] {_sentence(told)}"


def _escaped(value: str) -> str:
    """A value between quotes (RFC 5424, section 6.3.3); what cannot be seen is written as JSON
    writes it, so that a message stays a line."""
    seen = "".join(one if one.isprintable() else json.dumps(one)[1:-1] for one in value)
    return seen.replace("\\", "\\\\").replace('"', '\\"').replace("]", "\\]")


def _sentence(told: Mapping[str, Any]) -> str:
    parts = [told["actor"] or "-", told["kind"], told["object"], told["verdict"]]
    if told["approver"]:
        parts.append(f"by {told['approver']}")
    parts.append(shown_detail(told["detail"]))
    text = " ".join(str(part) for part in parts if part)
    return "".join(one if one.isprintable() else f"\\x{ord(one):02x}" for one in text)


_WRITERS: dict[str, Callable[[Sequence[Entry]], list[str]]] = {
    "jsonl": _jsonl,
    "otlp": _otlp,
    "syslog": _syslog,
}
