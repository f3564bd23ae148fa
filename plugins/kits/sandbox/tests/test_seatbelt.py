"""The profile for macOS's sandbox-exec: what it permits, and in which order."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hookline_sandbox import Limits
from hookline_sandbox.seatbelt import PROGRAM, profile, wrapped
from hookline_sandbox.survey import Findings
from hookline_sandbox.view import View

WORK, PRIVATE = Path("/accounts/ada/work"), Path("/private/tmp/hookline-sandbox-x")


def view(**fields: object) -> View:
    findings = Findings(
        hidden=(f"{WORK}/app/.env",),
        frozen=(f"{WORK}/.git/hooks", f"{WORK}/AGENTS.md"),
        pinned=(f"{WORK}/.git",),
    )
    return View(WORK, PRIVATE, Path("/accounts/ada/.hookline"), findings, **fields)  # type: ignore[arg-type]


def rules(text: str) -> Iterator[tuple[str, list[str], list[tuple[str, str]]]]:
    """The rules as verdict, operations and filters. The text must be balanced."""
    for rule in re.findall(r"^\((?:allow|deny)[^\n]*(?:\n  [^\n]*)?\)$", text, re.M):
        assert rule.count("(") == rule.count(")")
        head, _, rest = rule[1:-1].partition("(")
        verdict, *operations = head.split()
        yield verdict, operations, re.findall(r'\(([a-z-]+(?: [a-z-]+)?) "([^"]*)"', "(" + rest)


def decision(text: str, operation: str, kind: str, path: str) -> str:
    """The verdict of the last rule that is about an operation on a path."""
    found = "deny"
    for verdict, operations, filters in rules(text):
        named = any(
            operation == each or (each.endswith("*") and operation.startswith(each[:-1]))
            for each in operations
        )
        below = any(
            path == value or (name == "subpath" and path.startswith(value + "/"))
            for name, value in filters
            if name in ("subpath", "literal")
        )
        if named and below:
            found = verdict
    return found


@pytest.mark.parametrize(
    ("operation", "path", "verdict"),
    [
        ("file-write-data", f"{WORK}/new", "allow"),
        ("file-write-data", str(PRIVATE / "home" / "x"), "allow"),
        ("file-read-data", "/usr/lib/x", "allow"),
        ("file-write-data", "/usr/lib/x", "deny"),
        ("file-read-data", "/accounts/ada/.ssh/id_rsa", "deny"),
        ("file-read-data", "/accounts/ada/.hookline/config.yaml", "deny"),
        ("file-read-data", f"{WORK}/app/.env", "deny"),
        ("file-write-unlink", f"{WORK}/app", "deny"),
        ("file-write-create", f"{WORK}/app/new", "allow"),
        ("file-read-data", f"{WORK}/.git/hooks/x", "allow"),
        ("file-write-create", f"{WORK}/.git/hooks/pre-commit", "deny"),
        ("file-write-data", f"{WORK}/AGENTS.md", "deny"),
        ("file-write-create", f"{WORK}/.git/index.lock", "allow"),
        ("file-write-unlink", f"{WORK}/.git/index.lock", "allow"),
        ("file-write-unlink", f"{WORK}/.git", "deny"),
        ("file-write-unlink", f"{WORK}", "deny"),
    ],
)
def test_profile_decides_about_paths(operation: str, path: str, verdict: str) -> None:
    assert decision(profile(view()), operation, "subpath", path) == verdict


def test_profile_denies_everything_first_and_reaches_only_the_proxy() -> None:
    text = profile(view(proxy_port=4128, local_ports=(5432,)))
    assert text.startswith("(version 1)\n(deny default)\n")
    outgoing = re.findall(r'\(remote ip "([^"]*)"\)', text)
    assert outgoing == ["localhost:4128", "localhost:5432"]
    assert "com.apple.trustd.agent" in text
    assert "SecurityServer" not in text
    alone = profile(view())
    assert "remote ip" not in alone
    assert "(allow network-outbound)" not in alone  # a rule without a filter permits everything


def test_hookline_home_in_the_workspace_is_hidden() -> None:
    made = View(Path("/accounts/ada"), PRIVATE, Path("/accounts/ada/.hookline"))
    text = profile(made)
    assert decision(text, "file-read-data", "subpath", "/accounts/ada/.hookline/.env") == "deny"


def test_path_with_a_quote_is_escaped_and_a_line_break_refused() -> None:
    text = profile(View(Path('/accounts/ada/a"b\\c'), PRIVATE, Path("/h")))
    assert r'(subpath "/accounts/ada/a\"b\\c")' in text
    with pytest.raises(ValueError, match="cannot be written"):
        profile(View(Path("/accounts/ada/a\nb"), PRIVATE, Path("/h")))


def test_command_line_sets_limits_and_runs_the_program_with_the_profile() -> None:
    argv = wrapped(["/bin/ls", "-l"], view(), Limits())
    assert argv[-2:] == ["/bin/ls", "-l"]
    assert argv[-5:-3] == [PROGRAM, "-p"]
    assert "ulimit" in argv[3]
    assert os.linesep in argv[-3]
