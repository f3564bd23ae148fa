"""Settings, the doctor's check, and the data the judge reads."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml
from hookline_hookspecs import Ask, Check, CheckResult, ToolCall
from hookline_shell import Shell, ShellConfig
from hookline_shell.judge import deeds
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


def test_pattern_of_the_operator_asks(make_plugin: Callable[..., Shell], ctx: Any) -> None:
    shell = make_plugin(dangerous_patterns=[r"make\s+deploy"])
    found = hook_verdict(shell, ctx, ToolCall("1", "bash", {"command": "make deploy"}))
    assert isinstance(found, Ask)
    assert "make" in found.reason
    assert hook_verdict(shell, ctx, ToolCall("1", "bash", {"command": "make test"})) is None


def test_empty_pattern_list_keeps_the_built_in_rules(
    make_plugin: Callable[..., Shell], ctx: Any
) -> None:
    default, empty = make_plugin(), make_plugin(dangerous_patterns=[])
    call = ToolCall("1", "bash", {"command": "make drop-db"})
    assert isinstance(hook_verdict(default, ctx, call), Ask)
    assert hook_verdict(empty, ctx, call) is None
    assert hook_verdict(empty, ctx, ToolCall("1", "bash", {"command": "rm -rf /"})) is not None


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


def data(name: str) -> Any:
    folder = files("hookline_shell.judge") / "data"
    return yaml.load((folder / f"{name}.yaml").read_text("utf-8"), yaml.CSafeLoader)


@pytest.mark.parametrize("row", data("acts"), ids=lambda row: str(row["commands"][0]))
def test_acts_have_a_source_and_are_usable(row: dict[str, Any]) -> None:
    assert row["source"]
    if "deed" in row:
        assert row["deed"] in deeds.DEEDS
        return
    assert row["verdict"] in ("ask", "deny")
    assert row["reason"].format(name="x") != row["reason"]
    re.compile(row.get("match", ""))
    re.compile(row.get("unless", ""))


def test_default_patterns_are_regular_expressions() -> None:
    for pattern in ShellConfig().dangerous_patterns:
        re.compile(pattern)
