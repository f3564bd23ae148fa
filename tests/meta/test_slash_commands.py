"""Every slash command in the repository says who may give it in a group."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import get_args

import pytest
from hookline_hookspecs import Audience

from meta.tree import ROOT, dists


@cache
def slash_commands() -> dict[str, ast.Call]:
    """The decorator or constructor call of each slash command in the sources, by its place."""
    sources = [ROOT / "core", *(dist.source for dist in dists()), ROOT / "examples"]
    return {
        f"{file.relative_to(ROOT)}:{node.lineno}": node
        for source in sources
        for file in sorted(source.rglob("*.py"))
        if re.search(r"\b[cC]ommand\(", text := file.read_text("utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and _is_slash_command(node, file)
    }


def _is_slash_command(call: ast.Call, file: Path) -> bool:
    if "tests" in file.parts or not call.args or not isinstance(call.args[0], ast.Constant):
        return False
    is_named = isinstance(call.func, ast.Name) and call.func.id in ("command", "Command")
    return is_named and str(call.args[0].value).startswith("/")


def test_slash_command_declares_its_audience() -> None:
    assert slash_commands()
    for place, call in slash_commands().items():
        declared = {word.arg: word.value for word in call.keywords}
        audience = declared.get("audience")
        assert isinstance(audience, ast.Constant), f"{place}: add audience=… to the command"
        assert audience.value in get_args(Audience), place


@pytest.mark.parametrize("audience", ["turn", "session", "operator"])
def test_gateway_page_lists_the_commands_of_an_audience(audience: str) -> None:
    page = (ROOT / "docs" / "gateway.md").read_text("utf-8")
    (row,) = re.findall(rf"^\| `{audience}` \| (.*?) \|", page, re.MULTILINE)
    declared = {
        str(call.args[0].value)
        for place, call in slash_commands().items()
        if isinstance(call.args[0], ast.Constant) and not place.startswith("examples")
        for word in call.keywords
        if word.arg == "audience"
        if isinstance(word.value, ast.Constant) and word.value.value == audience
    }
    assert set(re.findall(r"/\w+", row)) == declared
