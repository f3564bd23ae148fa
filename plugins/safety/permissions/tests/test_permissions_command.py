"""``/permissions`` and ``hookline permissions``: rules of a chat, and of config.yaml."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import Harness
from hookline_permissions import Permissions

from .conftest import Hands, Town, say

MakeHarness = Callable[..., Harness]


def test_chat_shows_adds_and_removes_its_rules(harness: MakeHarness) -> None:
    h = harness(Permissions, Hands, model=["hi"])
    h.send("hello")
    assert h.send("/permissions").text.startswith("This chat has no rules of its own.")
    added = h.send("/permissions add allow bash(git push *)").text
    assert added == "allow: bash(git push *) applies in this chat."
    line = "allow bash(git push *) · chat · added by terminal:tester"
    assert h.send("/permissions list").text.startswith(f"{line}\n")
    listed = json.loads(h.cli("permissions list --json").stdout)
    assert listed == [
        {"kind": "allow", "rule": "bash(git push *)", "where": "chat", "chat": "terminal:default"}
        | {"by": "terminal:tester"}
    ]
    shown = "allow  bash(git push *)  (chat terminal:default, added by terminal:tester)"
    assert h.cli("permissions list").stdout.splitlines() == [shown]
    assert "Write 'bash(git push *)'" in h.send("/permissions add deny git push *").text
    assert h.send("/permissions remove bash(git push *)").text.endswith("is removed.")
    assert h.send("/permissions remove x").text.startswith("This chat has no rule 'x'.")
    assert json.loads(h.cli("permissions list --json").stdout) == []


def test_only_an_admin_allows_more_in_a_chat(harness: MakeHarness) -> None:
    h = harness(Permissions, Hands, Town, model=["hi"])
    count = [0]
    assert say(h, "guest", "hello", "guest", count) == "hi"
    allow = "/permissions add allow bash(git push *)"
    assert say(h, "guest", allow, "guest", count).startswith("Only an admin may allow more")
    assert say(h, "guest", "/permissions add deny bash", "guest", count).startswith("deny: bash")
    removed = say(h, "guest", "/permissions remove bash", "guest", count)
    assert removed.startswith("Only an admin may allow more")


@pytest.fixture
def saved(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The commands that would have changed config.yaml."""
    ran: list[tuple[str, ...]] = []
    monkeypatch.setattr("hookline_permissions.cli.run_hookline", lambda *words: ran.append(words))
    return ran


def test_command_line_changes_the_lists_of_the_config(
    harness: MakeHarness, saved: list[tuple[str, ...]]
) -> None:
    rules: dict[str, Any] = {"allow": ["bash(make *)"], "ask": ["bash(git push *)"]}
    h = harness(Permissions, config=rules)
    assert h.cli("permissions add allow 'bash(git log *)'").exit_code == 0
    assert h.cli("permissions remove 'bash(git push *)'").exit_code == 0
    assert saved == [
        (
            *("config", "set", "--", "plugins.permissions.allow"),
            '["bash(make *)", "bash(git log *)"]',
        ),
        ("config", "unset", "--", "plugins.permissions.ask"),
    ]
    assert "is in config.yaml already" in h.cli("permissions add allow 'bash(make *)'").stdout


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("add maybe bash", 2, "expected allow, ask or deny, got 'maybe'"),
        ("add allow 'git push'", 2, "Write 'bash(git push)' for a command."),
        ("remove x", 1, "no rule 'x'. `hookline permissions list` shows the rules"),
    ],
)
def test_command_line_says_what_is_wrong(
    harness: MakeHarness, saved: list[tuple[str, ...]], words: str, code: int, said: str
) -> None:
    done = harness(Permissions).cli(f"permissions {words}")
    assert (done.exit_code, said in done.stderr) == (code, True)
    assert saved == []


def test_packaged_rules_are_listed_with_their_reasons(harness: MakeHarness) -> None:
    rows = json.loads(harness(Permissions).cli("permissions list --all --json").stdout)
    assert {row["kind"] for row in rows} == {"allow", "ask", "deny"}
    assert all(row["why"] for row in rows)


def test_doctor_names_rules_that_cannot_be_read(harness: MakeHarness) -> None:
    h = harness(Permissions, config={"deny": ["git push *"], "allow": ["rm"]})
    [check] = [one for _, one in h.checks() if one.name == "permissions"]
    result: Any = check.run()
    assert (result.ok, "entry 1: 'git push *' is not a rule" in result.detail) == (False, True)
