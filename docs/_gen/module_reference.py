"""Describes a module's public names in Markdown: type aliases, constants, classes, functions."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import itertools
import re
import textwrap
from collections.abc import Callable, Collection, Iterator
from types import ModuleType
from typing import ForwardRef, NamedTuple

from markdown_text import code, docstring, table

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_QUOTED_ANNOTATION = re.compile(r"(: |-> )'([^']*)'")


class Value(NamedTuple):
    """A type alias or constant, with its value as source text and its docstring."""

    name: str
    text: str
    doc: str


def public_classes(module: ModuleType) -> list[type]:
    """The public classes of a module, in the order of its source."""
    return [
        kind
        for name, kind in vars(module).items()
        if inspect.isclass(kind) and kind.__module__ == module.__name__ and name[0] != "_"
    ]


def public_values(module: ModuleType, exported: Collection[str]) -> list[Value]:
    """The public type aliases of a module, and those of its constants that are ``exported``."""
    found = []
    body = ast.parse(inspect.getsource(module)).body
    for node, after in itertools.zip_longest(body, body[1:]):
        assigned = _assigned(node)
        if assigned is None:
            continue
        name, value, is_alias = assigned
        if name[0] != "_" and (is_alias or name in exported):
            text = _alias(value) if is_alias else repr(getattr(module, name))
            found.append(Value(name, text, _doc_of(after)))
    return found


def _assigned(node: ast.stmt | None) -> tuple[str, ast.expr, bool] | None:
    """For an assignment to one name: the name, the value, and whether it is a type alias."""
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
        return node.target.id, node.value, "TypeAlias" in ast.unparse(node.annotation)
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id, node.value, False
    return None


def _alias(value: ast.expr) -> str:
    """The values of a ``Literal``; other aliases as text without quotes."""
    text = ast.unparse(value)
    if text.startswith("Literal["):
        return ", ".join(repr(one) for one in ast.literal_eval(f"[{text[8:-1]}]"))
    return text.replace("'", "")


def _doc_of(node: ast.stmt | None) -> str:
    is_doc = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return docstring(str(node.value.value)) if is_doc else ""  # type: ignore[union-attr]


def values_table(values: list[Value]) -> str:
    """The aliases and constants as a table with an anchor for each name."""
    rows = [
        (f'<a id="{one.name}"></a>{code(one.name)}', code(one.text), one.doc.replace("\n", " "))
        for one in values
    ]
    return table(("name", "values or type", "what"), rows) + "\n" if rows else ""


def fields(kind: type) -> str:
    """A table of a dataclass's fields."""
    rows = [
        (code(field.name), code(str(field.type)), _default(field))
        for field in dataclasses.fields(kind)
        if field.init
    ]
    return table(("field", "type", "default"), rows)


def _default(field: dataclasses.Field[object]) -> str:
    if field.default is not dataclasses.MISSING:
        return code(_ADDRESS.sub("", repr(field.default)))
    if field.default_factory is not dataclasses.MISSING:
        return code(_ADDRESS.sub("", repr(field.default_factory())))
    return ""


def described(kind: type, imported_from: str = "") -> str:
    """A class: its docstring, fields or attributes, and methods.

    ``imported_from`` is a module that is named below the heading.
    """
    lines = [_heading(kind.__name__), docstring(kind.__doc__), ""]
    if imported_from:
        lines += [f"`from {imported_from} import {kind.__name__}`", ""]
    lines += [fields(kind) if dataclasses.is_dataclass(kind) else _attributes(kind), ""]
    lines += _methods(kind)
    return "\n".join(lines)


def function(name: str, called: Callable[..., object]) -> str:
    """A function: its signature and docstring."""
    signature = signature_text(inspect.signature(called))
    awaited = "async " if inspect.iscoroutinefunction(called) else ""
    lines = [_heading(name), f"```python\n{awaited}def {name}{signature}\n```\n"]
    return "\n".join([*lines, docstring(called.__doc__), ""])


def _heading(name: str) -> str:
    return f'<a id="{name}"></a>\n\n### `{name}`\n'


def _attributes(kind: type) -> str:
    annotations = {
        name: _annotation(annotation)
        for name, annotation in vars(kind).get("__annotations__", {}).items()
        if not name.startswith("_")
    }
    docs = _attribute_docs(kind)
    described_attributes = [
        f"`{name}: {annotations[name]}`\n:   {docs[name]}\n" for name in annotations if name in docs
    ]
    rows = [(code(name), code(text)) for name, text in annotations.items() if name not in docs]
    tables = [table(("attribute", "type"), rows)] if rows else []
    return "\n".join([*tables, *described_attributes])


def _annotation(annotation: object) -> str:
    return annotation.__forward_arg__ if isinstance(annotation, ForwardRef) else str(annotation)


def _attribute_docs(kind: type) -> dict[str, str]:
    """The docstrings of a class's annotated attributes."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    found: dict[str, str] = {}
    body = getattr(tree, "body", [])
    for node, after in itertools.pairwise(body):
        is_doc = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and is_doc:
            found[node.target.id] = docstring(after.value.value).replace("\n", "\n    ")
    return found


def _methods(kind: type) -> Iterator[str]:
    for name, member in vars(kind).items():
        call = _call(name, member)
        if call:
            doc = docstring(_function(member).__doc__).replace("\n", "\n    ")
            yield f"`{call}`\n:   {doc}\n"


def _function(member: object) -> object:
    if isinstance(member, property):
        return member.fget
    return getattr(member, "__func__", member)


def _call(name: str, member: object) -> str:
    """The signature of a public method or property; empty for other members."""
    called = _function(member)
    if (name.startswith("_") and name != "__getitem__") or not inspect.isfunction(called):
        return ""
    if called.__module__.startswith("pydantic."):  # added to models with private attributes
        return ""
    signature = inspect.signature(called)
    if isinstance(member, property):
        return f"{name}: {signature.return_annotation}"
    shown = [p for p in signature.parameters.values() if p.name not in ("self", "cls")]
    plain = signature_text(signature.replace(parameters=shown))
    return ("async " if inspect.iscoroutinefunction(called) else "") + name + plain


def signature_text(signature: inspect.Signature) -> str:
    """A signature without quotes around annotations and without memory addresses."""
    return _ADDRESS.sub("", _QUOTED_ANNOTATION.sub(r"\1\2", str(signature)))
