"""Rows for other programs: JSON lines, OpenTelemetry's logs, syslog."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .entries import AuditEntry, format_detail

FORMATS = ("jsonl", "otlp", "syslog")
MAX_ROWS_PER_LINE = 500
"""Rows in one line of ``otlp``."""
WARNING_VERDICTS = frozenset({"denied", "failed"})
SYSLOG_AUDIT_FACILITY = 13
"""RFC 5424, section 6.2.1."""
SYSLOG_NOTICE = 5
SYSLOG_WARNING = 4
OTLP_INFO = 9
OTLP_WARN = 13
STRUCTURED_DATA_ID = "hookline@32473"
"""The id of the structured data; 32473 is the enterprise number for examples (RFC 5612)."""
ATTRIBUTES = (
    *("seq", "node", "n", "actor", "channel", "chat", "session", "turn", "kind", "object"),
    *("verdict", "approver", "state", "sha"),
)


def export_lines(format_: str, entries: Sequence[AuditEntry]) -> list[str]:
    """Return rows in one of :data:`FORMATS`; for otlp all of them in one line."""
    return _WRITERS[format_](entries)


def _jsonl(entries: Sequence[AuditEntry]) -> list[str]:
    return [json.dumps(entry.as_dict()) for entry in entries]


def _otlp(entries: Sequence[AuditEntry]) -> list[str]:
    """OTLP/JSON, an ``ExportLogsServiceRequest`` a line."""
    if not entries:
        return []
    scope = {
        "scope": {"name": "hookline.audit"},
        "logRecords": [_otlp_record(entry) for entry in entries],
    }
    resource = {"attributes": [_attribute("service.name", "hookline")]}
    return [json.dumps({"resourceLogs": [{"resource": resource, "scopeLogs": [scope]}]})]


def _otlp_record(entry: AuditEntry) -> dict[str, Any]:
    data = entry.as_dict()
    is_warning = data["verdict"] in WARNING_VERDICTS
    attributes = [
        _attribute(f"hookline.audit.{name}", data[name])
        for name in ATTRIBUTES
        if data[name] not in ("", None)
    ]
    attributes.append(_attribute("hookline.audit.detail", json.dumps(data["detail"])))
    return {
        "timeUnixNano": str(entry.stored["at"] * 1000),
        "severityNumber": OTLP_WARN if is_warning else OTLP_INFO,
        "severityText": "WARN" if is_warning else "INFO",
        "eventName": f"hookline.audit.{data['kind']}",
        "body": {"stringValue": _sentence(data)},
        "attributes": attributes,
    }


def _attribute(name: str, value: Any) -> dict[str, Any]:
    kind = "intValue" if isinstance(value, int) else "stringValue"
    return {"key": name, "value": {kind: str(value)}}


def _syslog(entries: Sequence[AuditEntry]) -> list[str]:
    """RFC 5424, a message a line."""
    return [_syslog_message(entry) for entry in entries]


def _syslog_message(entry: AuditEntry) -> str:
    data = entry.as_dict()
    severity = SYSLOG_WARNING if data["verdict"] in WARNING_VERDICTS else SYSLOG_NOTICE
    host, _, process = str(data["node"]).rpartition("-")[0].rpartition("-")
    fields = " ".join(
        f'{name}="{_escaped(str(data[name]))}"'
        for name in ATTRIBUTES
        if data[name] not in ("", None)
    )
    detail = f' detail="{_escaped(json.dumps(data["detail"]))}"'
    text = _sentence(data)
    head = f"<{SYSLOG_AUDIT_FACILITY * 8 + severity}>1 {data['at']} {host or '-'} hookline"
    return f"{head} {process or '-'} {data['kind']} [{STRUCTURED_DATA_ID} {fields}{detail}] {text}"


def _escaped(value: str) -> str:
    """Escape a quoted value (RFC 5424, section 6.3.3).

    Unprintable characters are written as in JSON, so that a message stays on one line.
    """
    printable = "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in value)
    return printable.replace("\\", "\\\\").replace('"', '\\"').replace("]", "\\]")


def _sentence(data: Mapping[str, Any]) -> str:
    parts = [data["actor"] or "-", data["kind"], data["object"], data["verdict"]]
    if data["approver"]:
        parts.append(f"by {data['approver']}")
    parts.append(format_detail(data["detail"]))
    text = " ".join(str(part) for part in parts if part)
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


_WRITERS: dict[str, Callable[[Sequence[AuditEntry]], list[str]]] = {
    "jsonl": _jsonl,
    "otlp": _otlp,
    "syslog": _syslog,
}
