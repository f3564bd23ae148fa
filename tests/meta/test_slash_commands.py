"""Every slash command in the repository says who may give it in a group."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from hookline_hookspecs import Audience

from meta.tree import ROOT, dists


def slash_commands() -> Iterator[tuple[str, ast.Call]]:
    """Place and decorator or constructor call of each slash command in the sources."""
    sources = [ROOT / "core", *(dist.source for dist in dists()), ROOT / "examples"]
    for file in (file for source in sources for file in sorted(source.rglob("*.py"))):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and _is_slash_command(node, file):
                yield f"{file.relative_to(ROOT)}:{node.lineno}", node


def _is_slash_command(call: ast.Call, file: Path) -> bool:
    if "tests" in file.parts or not call.args or not isinstance(call.args[0], ast.Constant):
        return False
    is_named = isinstance(call.func, ast.Name) and call.func.id in ("command", "Command")
    return is_named and str(call.args[0].value).startswith("/")


COMMANDS = dict(slash_commands())


@pytest.mark.parametrize("place", COMMANDS)
def test_slash_command_declares_its_audience(place: str) -> None:
    declared = {word.arg: word.value for word in COMMANDS[place].keywords}
    audience = declared.get("audience")
    assert isinstance(audience, ast.Constant), f"{place}: add audience=… to the command"
    assert audience.value in get_args(Audience)


@pytest.mark.parametrize("audience", ["turn", "session", "operator"])
def test_page_lists_the_commands_of_an_audience(audience: str) -> None:
    page = (ROOT / "docs" / "gateway.md").read_text("utf-8")
    (row,) = re.findall(rf"^\| `{audience}` \| (.*?) \|", page, re.MULTILINE)
    declared = {
        str(call.args[0].value)
        for place, call in COMMANDS.items()
        if isinstance(call.args[0], ast.Constant) and not place.startswith("examples")
        for word in call.keywords
        if word.arg == "audience"
        if isinstance(word.value, ast.Constant) and word.value.value == audience
    }
    assert set(re.findall(r"/\w+", row)) == declared
