"""What an approval offers: at most three scopes that would have allowed the call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hookline.testing import guarded_paths
from hookline_hookspecs import OfferedScope, ToolCall
from hookline_permissions.offers import offered_scopes
from hookline_permissions.packaged_rules import packaged_rules
from hookline_permissions.rule_set import RuleSet
from hookline_permissions.rules import parse_rule

ONCE_MORE = "Allow this exact command in this session"
SANDBOXED = "Allow everything that stays in the sandbox in this session"


def offered(workspace: Path, tool: str, *rules: str, **arguments: Any) -> list[OfferedScope]:
    paths = guarded_paths(workspace, workspace.parent / ".hookline")
    given = [parse_rule("ask", text, "config.yaml") for text in rules]
    known = RuleSet([*given, *(one.rule for one in packaged_rules())])
    call = ToolCall("1", tool, arguments)
    return list(offered_scopes(call, paths, known, sandboxed=True, all_changes=True))


@pytest.mark.parametrize(
    ("command", "rules"),
    [
        ("git push origin main", ["bash(git push *)"]),
        ("cd src && pytest -q | tail", ["bash(pytest *)"]),
        ("cargo build && git push", ["bash(cargo build *)", "bash(git push *)"]),
        ("docker compose up -d", ["bash(docker compose up *)"]),
        ("uv run pytest -q", ["bash(uv run pytest *)"]),
        ("ssh build uptime", ["bash(ssh build *)"]),
        ("git commit -m \"$(cat <<'E'\nit's done\nE\n)\"", ["bash(git commit *)"]),
    ],
)
def test_pattern_of_a_command_is_offered(tmp_path: Path, command: str, rules: list[str]) -> None:
    exact, pattern, *_ = offered(tmp_path, "bash", command=command)
    assert (exact.label, exact.lasts) == (ONCE_MORE, "session")
    assert (list(pattern.rules), pattern.lasts) == (rules, "chat")
    assert pattern.label.startswith("Allow `")


@pytest.mark.parametrize(
    "command",
    [
        "python3 -c 'print(1)'",
        "bash -c ls",
        "node -e 1",
        "git",
        "git -c a=b push",
        "git push --force",
        "npm run build",
        "env A=1 make",
        "sudo make",
        "ls | xargs rm",
        "find . -exec x {} +",
        "ssh",
        "curl https://example.com",
        "docker run -it x sh",
        "rm -rf build",
        "git config core.pager less",
        "git rebase -x make main",
        "psql -c 'select 1'",
        "kubectl delete pod x",
        "aws s3 cp a s3://b",
        "npm publish --tag next",
        "bash .",
        "PATH=. make",
        "make > /etc/x",
        "$X y",
    ],
)
def test_pattern_that_would_run_anything_is_not_offered(tmp_path: Path, command: str) -> None:
    assert [scope.label for scope in offered(tmp_path, "bash", command=command)] in (
        [],
        [ONCE_MORE],
        [ONCE_MORE, SANDBOXED],
    )


def test_everything_that_stays_in_the_sandbox_is_offered(tmp_path: Path) -> None:
    *_, widest = offered(tmp_path, "bash", command="pytest -q")
    assert (widest.label, widest.lasts) == (SANDBOXED, "session")
    assert SANDBOXED not in [one.label for one in offered(tmp_path, "bash", command="docker ps")]
    paths = guarded_paths(tmp_path, tmp_path.parent / ".hookline")
    given = [parse_rule("allow", text, "session") for text in widest.rules]
    rules = RuleSet([*given, *(one.rule for one in packaged_rules())])

    def allows(command: str, *, sandboxed: bool = True, **more: Any) -> bool:
        call = ToolCall("1", "bash", {"command": command, **more})
        decision = rules.decide(call, paths, sandboxed=sandboxed)
        return decision.kind == "allow" and decision.rule in given

    assert allows("make && $X")
    assert not allows("make", sandboxed=False)
    assert not allows("docker run x")
    assert not allows("rm -rf .git")


def test_nothing_is_offered_that_would_not_have_allowed_the_call(tmp_path: Path) -> None:
    assert offered(tmp_path, "bash", "bash(git push *)", command="git push") == []
    assert offered(tmp_path, "write_file", "write_file", path="a", content="") == []


def test_scopes_of_other_tools(tmp_path: Path) -> None:
    edits = offered(tmp_path, "write_file", path="src/a.py", content="x")
    assert [scope.label for scope in edits] == [
        "Allow edits of src/a.py in this session",
        "Allow edits in src/ in this session",
    ]
    assert edits[1].rules == ("write_file|edit_file(src/**)",)
    pages = offered(tmp_path, "web_fetch", url="https://docs.python.org/3/")
    assert [scope.rules for scope in pages] == [("web_fetch(domain:docs.python.org)",)] * 2
    [tool] = offered(tmp_path, "mcp__github__search", q="x")
    assert tool.label == "Allow every call of mcp__github__search in this session"


def test_pattern_of_an_unknown_program_is_not_offered_outside(tmp_path: Path) -> None:
    paths = guarded_paths(tmp_path, tmp_path.parent / ".hookline")
    packaged = RuleSet(one.rule for one in packaged_rules())
    for line, count in (("croc send x", 1), ("docker compose up", 2)):
        found = offered_scopes(ToolCall("1", "bash", {"command": line}), paths, packaged)
        assert len(found) == count
