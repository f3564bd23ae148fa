"""The arguments of a server's tool are guessed from formats and names."""

from __future__ import annotations

import pytest
from hookline_hookspecs import Sink
from hookline_mcp.guessed_sinks import guess_sinks


@pytest.mark.parametrize(
    ("name", "schema", "kind"),
    [
        ("to", {"type": "string"}, "recipient"),
        ("recipientEmail", {"type": "string"}, "recipient"),
        ("where", {"type": "string", "format": "email"}, "recipient"),
        ("people", {"type": "array", "items": {"format": "email"}}, "recipient"),
        ("file_id", {"type": "string"}, "target"),
        ("apiKey", {"type": "string"}, "credential"),
        ("total_amount", {"type": "number"}, "amount"),
        ("body", {"type": "string"}, "content"),
        ("start_time", {"type": "string", "format": "date-time"}, "when"),
    ],
)
def test_argument_is_guessed(name: str, schema: dict[str, object], kind: str) -> None:
    sinks = guess_sinks({"properties": {name: schema, "verbose": {"type": "boolean"}}})
    assert sinks == {name: Sink(kind, guessed=True)}  # type: ignore[arg-type]


@pytest.mark.parametrize("properties", [{"a": True}, {"to": []}, {"x": {"format": 5}}])
def test_any_schema_is_read(properties: dict[str, object]) -> None:
    assert isinstance(guess_sinks({"properties": properties}), dict)
