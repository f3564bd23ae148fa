"""Settings, the doctor's check, and the patterns of dangerous commands."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline_hookspecs import Ask, Check, CheckResult, ToolCall
from hookline_shell import Shell, ShellConfig
from pydantic import ValidationError

from .conftest import hook_verdict


def check(shell: Shell) -> CheckResult:
    found: list[Check] = []
    shell.register_checks(found.append)
    result = found[0].run()
    assert isinstance(result, CheckResult)
    return result


def test_invalid_pattern_error_names_the_pattern() -> None:
    with pytest.raises(
        ValidationError, match=r"entry 2, '\(unclosed' is not a valid regular expression"
    ):
        ShellConfig(dangerous_patterns=["fine", "(unclosed"])


def test_timeout_above_its_maximum_is_an_error() -> None:
    with pytest.raises(ValidationError, match="longer than max_timeout"):
        ShellConfig(timeout=700)


def test_pattern_of_the_operator_asks(
    make_plugin: Callable[..., Shell], ctx: Any, sandboxes: None
) -> None:
    shell = make_plugin(dangerous_patterns=[r"make\s+deploy"], sandbox={"enabled": True})
    found = hook_verdict(shell, ctx, ToolCall("1", "bash", {"command": "make deploy"}))
    assert isinstance(found, Ask)
    assert "make" in found.reason
    assert hook_verdict(shell, ctx, ToolCall("1", "bash", {"command": "make test"})) is None


@pytest.mark.parametrize(
    "command",
    [
        "make drop-db",
        "npm run db:reset",
        "just teardown",
        "cd infra && terraform destroy -auto-approve",
        "kubectl delete ns production",
        "aws s3 rb s3://bucket --force",
        "psql -c 'DROP DATABASE shop'",
    ],
)
def test_default_patterns_ask_in_the_sandbox_too(
    make_plugin: Callable[..., Shell], ctx: Any, sandboxes: None, command: str
) -> None:
    call = ToolCall("1", "bash", {"command": command})
    found = hook_verdict(make_plugin(sandbox={"enabled": True}), ctx, call)
    assert isinstance(found, Ask)
    assert "is on the list of dangerous commands" in found.reason
    assert not found.answered_by_rules
    empty = make_plugin(dangerous_patterns=[], sandbox={"enabled": True})
    assert hook_verdict(empty, ctx, call) is None


def test_doctor_warns_about_an_empty_pattern_list(make_plugin: Callable[..., Shell]) -> None:
    warned = check(make_plugin(dangerous_patterns=[]))
    assert warned.hint
    assert "dangerous_patterns" in warned.detail
    assert not check(make_plugin()).hint


def test_doctor_fails_without_a_shell(
    make_plugin: Callable[..., Shell], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not check(make_plugin()).ok


def test_default_patterns_are_regular_expressions() -> None:
    for pattern in ShellConfig().dangerous_patterns:
        re.compile(pattern)
