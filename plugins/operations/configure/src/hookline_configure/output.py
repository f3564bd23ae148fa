"""How the commands print values, warnings and errors."""

from __future__ import annotations

import json as json_
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import typer
from hookline_hookspecs import CommandError, HooklineError

from .yaml_values import as_inline

_LINE_ENDS = {0x2028: "\\u2028", 0x2029: "\\u2029", 0x85: "\\u0085"}
"""Characters that JSON allows and that end a line for some programs, with their escapes."""


@contextmanager
def as_command_errors() -> Iterator[None]:
    """Turn a ``HooklineError`` into the ``CommandError`` that ends a command with its message."""
    try:
        yield
    except HooklineError as error:
        raise CommandError(str(error)) from None


def warn(warnings: Iterable[str]) -> None:
    """Print warnings."""
    for warning in warnings:
        typer.echo(f"hookline: warning: {warning}", err=True)


def print_value(value: object, json: bool) -> None:
    """Print a value as text or YAML, or as JSON on one line."""
    if not json and isinstance(value, dict | list):
        import yaml

        text = yaml.safe_dump(value, sort_keys=False, allow_unicode=True)
    elif not json and isinstance(value, str):
        text = value
    else:
        text = json_.dumps(value, ensure_ascii=False, default=str).translate(_LINE_ENDS)
    typer.echo(text.removesuffix("\n"))


def with_sources(values: dict[str, Any], sources: Mapping[str, str]) -> list[str]:
    """The values as lines of YAML, each with a comment that says where it is set.

    A value without a comment is a default.
    """
    lines: list[str] = []
    for name, value in values.items():
        _add_lines(lines, (name,), value, sources)
    return lines


def _add_lines(
    lines: list[str], key: tuple[str, ...], value: object, sources: Mapping[str, str]
) -> None:
    indent = "  " * (len(key) - 1)
    if isinstance(value, dict) and value:
        lines.append(f"{indent}{as_inline(key[-1])}:")
        for name, inner in value.items():
            _add_lines(lines, (*key, str(name)), inner, sources)
        return
    place = sources.get(".".join(key))
    comment = f"  # {place}" if place else ""
    lines.append(f"{indent}{as_inline(key[-1])}: {as_inline(value)}{comment}")
