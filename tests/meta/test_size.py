"""Core keeps its size: a feature that needs more room belongs in a plugin."""

from __future__ import annotations

import ast
import io
import tokenize
from pathlib import Path

import pytest

from meta.tree import CORE, HOOKSPECS, ROOT, TESTING

BUDGET = 6_000
"""Lines of code in core and hookspecs together; the test kit is not counted."""
FILE_LIMIT = 400
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def lines_of_code(source: str) -> int:
    """Lines that hold code: neither blank, nor a comment, nor a docstring."""
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in NO_CODE:
            code.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if _is_docstring(node):
            assert isinstance(node, ast.Expr)
            code -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(code)


def _is_docstring(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def sizes() -> dict[Path, int]:
    """Lines of code of every counted file, by its path in the repository."""
    files = [*CORE.rglob("*.py"), *HOOKSPECS.rglob("*.py")]
    return {
        file.relative_to(ROOT): lines_of_code(file.read_text("utf-8"))
        for file in files
        if not file.is_relative_to(TESTING)
    }


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("", 0),
        ('"""Doc.\n\nMore.\n"""\n\nimport os  # why\n# alone\n', 1),
        ("x = [\n    1,\n\n    2,\n]\n", 4),
        ('def f() -> str:\n    """Doc."""\n    return """a\nb\n"""\n', 4),
        ('X = 1\n"""What X is,\nin words."""\n', 1),
    ],
)
def test_only_code_counts(source: str, lines: int) -> None:
    assert lines_of_code(source) == lines


def test_core_keeps_its_budget() -> None:
    counted = sizes()
    total = sum(counted.values())
    largest = sorted(counted, key=counted.__getitem__, reverse=True)[:8]
    assert total <= BUDGET, f"{total} lines; the largest: {', '.join(map(str, largest))}"


def test_no_file_of_core_is_long() -> None:
    long = {str(file): lines for file, lines in sizes().items() if lines > FILE_LIMIT}
    assert not long, f"split what is over {FILE_LIMIT} lines of code: {long}"
