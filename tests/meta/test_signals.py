"""Every signal that plugins send or receive is declared in ``SIGNALS`` or is a hook's name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

from hookline_hookspecs import HOOKS, SIGNALS

from meta.tree import ROOT

DECLARED = {*SIGNALS, *HOOKS}
CALLS = {"send", "connect", "disconnect"}
FILES = sorted((ROOT / "plugins").glob("*/*/src/**/*.py"))


@cache
def every_node(source: str) -> tuple[ast.AST, ...]:
    """The syntax tree of a module, itself first."""
    return tuple(ast.walk(ast.parse(source)))


def names_used(source: str) -> Iterator[str]:
    """The names in calls of ``….signals.send|connect|disconnect(NAME, …)``.

    NAME is a string, a constant of the module, or comes from a loop over a table; then the keys of
    every table of receivers in the module count.
    """
    tree = every_node(source)[0]
    assert isinstance(tree, ast.Module)
    constants = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in every_node(source):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        owner = node.func.value
        if node.func.attr not in CALLS or getattr(owner, "attr", "") != "signals":
            continue
        name = node.args[0]
        if isinstance(name, ast.Constant):
            yield str(name.value)
        elif isinstance(name, ast.Name) and name.id in constants:
            yield str(constants[name.id])


def tables(source: str) -> Iterator[str]:
    """The keys of tables of receivers: in a function ``receivers``, or one that calls ``connect``
    in a loop."""
    for function in every_node(source):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        loops = [node for node in ast.walk(function) if isinstance(node, ast.For)]
        connects = any(".signals.connect(" in ast.unparse(loop) for loop in loops)
        if function.name == "receivers" or connects:
            for node in ast.walk(function):
                if isinstance(node, ast.Dict):
                    yield from (str(k.value) for k in node.keys if isinstance(k, ast.Constant))


def test_signals_sent_or_received_are_declared() -> None:
    unknown = [
        f"{file.relative_to(ROOT)}: {name}"
        for file in FILES
        if "signals" in (source := file.read_text("utf-8"))
        for name in {*names_used(source), *tables(source)} - DECLARED
    ]
    assert not unknown, f"add to SIGNALS, or use a hook or a service: {sorted(unknown)}"


def test_signal_search_finds_used_signals() -> None:
    sources = [file.read_text("utf-8") for file in FILES]
    found = {name for text in sources if "signals" in text for name in names_used(text)}
    assert {"reply_sent", "budget", "settled", "end_of_turn"} <= found
    assert list(names_used('UP = "up"\nself.host.signals.send(UP, 1)')) == ["up"]
    loop = 'def f(x):\n for n, r in {"new": 1}.items():\n  x.signals.connect(n, r)'
    assert list(tables(loop)) == ["new"]
