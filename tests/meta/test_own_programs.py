"""Hookline starts programs by ``own_program`` only, so that no tool can put one in its way."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from meta.tree import ROOT

STARTERS = {"run", "Popen", "call", "check_call", "check_output", "create_subprocess_exec"}
STARTERS |= {"execv", "execve", "execvp", "execvpe", "spawnv", "spawnvp", "posix_spawnp"}
STARTS = ("subprocess", "os.exec", "os.spawn", "os.posix_spawn")
"""A module that starts a program has one of these."""
PRINTS_ONLY = {
    "plugins/operations/configure/src/hookline_configure/install_command.py",
    "plugins/operations/configure/src/hookline_scaffold/command.py",
}
"""Modules that print what the person's own shell would find, and start nothing by that."""


def sources() -> list[Path]:
    folders = [ROOT / "core", ROOT / "hookspecs", *ROOT.glob("plugins/*/*/src")]
    return sorted(file for folder in folders for file in folder.rglob("*.py"))


def searches(tree: ast.AST) -> Iterator[str]:
    """Yield each place that searches PATH by itself."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "which":
            yield f"line {node.lineno}: which"
        if isinstance(node, ast.ImportFrom) and node.module == "shutil":
            yield from (f"line {node.lineno}: which" for one in node.names if one.name == "which")


def bare_names(tree: ast.AST) -> Iterator[str]:
    """Yield each place that starts a program by a name without a folder."""
    for function in ast.walk(tree):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)):
            lists = {
                target.id: node.value
                for node in ast.walk(function)
                if isinstance(node, ast.Assign)
                for target in node.targets
                if isinstance(target, ast.Name)
            }
            for node in ast.walk(function):
                if not (isinstance(node, ast.Call) and _starts(node.func) and node.args):
                    continue
                if (program := _program(node.args[0], lists)) and "/" not in program:
                    yield f"line {node.lineno}: {program}"


def _starts(node: ast.expr) -> bool:
    if isinstance(node, ast.Name):
        return node.id in STARTERS - {"run", "call"}
    return (
        isinstance(node, ast.Attribute)
        and node.attr in STARTERS
        and isinstance(node.value, ast.Name)
        and node.value.id in ("subprocess", "asyncio", "os")
    )


def _program(node: ast.expr, lists: dict[str, ast.expr]) -> str:
    """Return the program if the code spells it out."""
    if isinstance(node, ast.Name):
        node = lists.get(node.id, node)
    if isinstance(node, ast.Starred):
        return _program(node.value, lists)
    if isinstance(node, (ast.List, ast.Tuple)) and node.elts:
        return _program(node.elts[0], {})
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def test_no_module_searches_path_or_starts_a_program_by_its_bare_name() -> None:
    wrong = []
    for file in sources():
        name, text = file.relative_to(ROOT).as_posix(), file.read_text("utf-8")
        if not any(word in text for word in ("which", *STARTS)):
            continue
        tree = ast.parse(text)
        found = [*(() if name in PRINTS_ONLY else searches(tree)), *bare_names(tree)]
        wrong += [f"{name}: {one}; use own_program" for one in dict.fromkeys(found)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "code",
    [
        "import shutil\nshutil.which('git')",
        "from shutil import which",
        "import subprocess\nsubprocess.run(['git', 'status'])",
        "import subprocess\ndef f():\n    argv = ['git', 'status']\n    subprocess.run(argv)",
        "import asyncio\nasync def f():\n    await asyncio.create_subprocess_exec('git', 'status')",
    ],
)
def test_ways_around_own_program_are_found(code: str) -> None:
    tree = ast.parse(code)
    assert [*searches(tree), *bare_names(tree)]
