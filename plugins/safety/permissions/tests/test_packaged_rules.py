"""The packaged rules match their own examples, and nothing that they are not about."""

from __future__ import annotations

from pathlib import Path

import pytest
from hookline.testing import guarded_paths
from hookline_hookspecs import Paths, ToolCall
from hookline_permissions.packaged_rules import PackagedRule, outside_rules, packaged_rules
from hookline_permissions.rule_set import RuleSet


@pytest.fixture
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Paths:
    """A workspace in a person's home, as most are."""
    home = tmp_path / "person"
    (home / "work").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    return guarded_paths(home / "work", home / ".hookline")


@pytest.mark.parametrize(
    "packaged", [*packaged_rules(), *outside_rules()], ids=lambda one: one.rule.text
)
def test_packaged_rule_matches_its_examples(packaged: PackagedRule, paths: Paths) -> None:
    rule = packaged.rule
    allowed = [one.rule for one in packaged_rules()]
    rules = RuleSet(allowed if rule.kind == "allow" else [rule])

    def decides(command: str) -> bool:
        decision = rules.decide(ToolCall("1", "bash", {"command": command}), paths)
        if rule.kind == "allow":
            return decision.kind == "allow"
        return decision.rule is rule

    assert packaged.match
    assert [one for one in packaged.match if not decides(one)] == []
    assert [one for one in packaged.not_match if decides(one)] == []
    assert rule.why
