"""A turn that failed is shown with its reason, which is not stored as the model's words."""

from __future__ import annotations

import json
from typing import Any

from hookline_hookspecs import NetworkError, Overloaded
from hookline_inspect import Inspect


def test_failed_turn_is_shown_and_exported_with_its_reason(harness: Any) -> None:
    broken = NetworkError("the line broke")
    broken.partial = "Half an ans"
    h = harness(Inspect, model=[Overloaded("the server is full"), broken, "fine"])
    for text in ("one", "two", "three"):
        h.send(text)
    h.run(h.aclose())
    assert h.cli("sessions show test").stdout.splitlines()[:7] == [
        "[user] one",
        "[assistant] the server is full",
        "[user] two",
        "[assistant] Half an ans",
        "[assistant] the line broke",
        "[user] three",
        "[assistant] fine",
    ]
    lines = [json.loads(line) for line in h.cli("sessions export test").stdout.splitlines()]
    errors = [line.get("error") for line in lines]
    assert errors == [None, "the server is full", None, "the line broke", None, None]
    shown = json.loads(h.cli("sessions show test --json").stdout)["messages"]
    assert shown[1]["error"] == "the server is full"
