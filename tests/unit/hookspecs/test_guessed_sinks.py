"""What the arguments of a tool decide is guessed from formats and names."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from hookline_hookspecs import Amount, Sink, Tool
from hookline_hookspecs.guessed_sinks import guess_sinks, missing_declarations


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


def pay(iban: str, amount: Annotated[float, Amount()], note: str = "") -> str:
    """Pay."""
    return "paid"


def test_author_is_told_what_a_tool_does_not_declare() -> None:
    told = "\n".join(missing_declarations(Tool.from_function(pay)))
    assert "tool pay declares no effects" in told
    assert "declares no origin" in told
    assert "iban looks like a recipient: annotate it, as iban: Annotated[str, Recipient()]" in told
    assert "amount looks" not in told


@pytest.mark.parametrize(
    "options", [{"read_only": True}, {"sinks": {"iban": Sink("recipient", guessed=True)}}]
)
def test_author_is_told_nothing_about_a_tool_that_reads_or_is_a_servers(options: Any) -> None:
    assert missing_declarations(Tool.from_function(pay, **options)) == []
