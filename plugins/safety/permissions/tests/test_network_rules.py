"""Rules ``network(…)``: which hosts they cover, and what a question about a host offers."""

from __future__ import annotations

from pathlib import Path

import pytest
from hookline.testing import guarded_paths
from hookline_hookspecs import ToolCall
from hookline_permissions.offers import offered_scopes
from hookline_permissions.rule_set import RuleSet
from hookline_permissions.rules import Kind, RuleError, parse_rule


def reach(host: str, port: int = 443) -> ToolCall:
    return ToolCall("", "network", {"host": host, "port": port})


@pytest.mark.parametrize(
    ("kind", "pattern", "host", "port", "matches"),
    [
        ("allow", "a.example", "a.example", 443, True),
        ("allow", "a.example", "b.a.example", 443, False),
        ("allow", "a.example", "a.example.evil.test", 443, False),
        ("allow", "A.Example.", "a.example", 80, True),
        ("deny", "a.example", "b.a.example", 443, True),
        ("allow", "*.a.example", "b.a.example", 443, True),
        ("allow", "*.a.example", "a.example", 443, False),
        ("allow", "a.example:8443", "a.example", 443, False),
        ("allow", "a.example:8443", "a.example", 8443, True),
        ("allow", "[2606:4700::1]", "2606:4700::1", 443, True),
        ("allow", "localhost:5432", "localhost", 5432, True),
        ("allow", "127.0.0.1:5432", "localhost", 5432, True),
        ("allow", "registries", "deb.debian.org", 443, True),
        ("allow", "registries", "upload.deb.debian.org", 443, False),
        ("allow", "registries", "registries", 443, False),
    ],
)
def test_rule_covers_hosts(
    tmp_path: Path, kind: Kind, pattern: str, host: str, port: int, matches: bool
) -> None:
    paths = guarded_paths(tmp_path, tmp_path.parent / ".hookline")
    rules = RuleSet([parse_rule(kind, f"network({pattern})", "config.yaml")])
    decided = rules.decide(reach(host, port), paths).kind
    assert decided == (kind if matches else None)
    assert rules.decide(ToolCall("", "web_fetch", {"url": f"https://{host}/"}), paths).kind is None


@pytest.mark.parametrize("pattern", ["localhost", "https://a.example", "a b", "a.example:99999"])
def test_rule_without_a_host_is_refused_with_an_example(pattern: str) -> None:
    with pytest.raises(RuleError, match=r"network\(localhost:5432\)"):
        parse_rule("allow", f"network({pattern})", "config.yaml")


@pytest.mark.parametrize(
    ("host", "rules"),
    [
        ("a.example", ["network(a.example)", "network(a.example)"]),
        ("2606:4700::1", ["network([2606:4700::1])", "network([2606:4700::1])"]),
        (
            "deb.debian.org",
            ["network(deb.debian.org)", "network(registries)", "network(registries)"],
        ),
    ],
)
def test_question_about_a_host_offers_it_and_its_group(
    tmp_path: Path, host: str, rules: list[str]
) -> None:
    paths = guarded_paths(tmp_path, tmp_path.parent / ".hookline")
    scopes = offered_scopes(reach(host), paths, RuleSet([]))
    assert [rule for scope in scopes for rule in scope.rules] == rules
    assert [scope.lasts for scope in scopes][-1] == "chat"
    assert all(scope.label.startswith("Allow ") and scope.covers for scope in scopes)
