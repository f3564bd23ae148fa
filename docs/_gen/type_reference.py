"""The page of the types that cross between core and plugins, from ``hookline_hookspecs``."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import itertools
import textwrap
from collections.abc import Iterator
from types import ModuleType

import hookline_hookspecs
from hookline_hookspecs import (
    conversations,
    drivers,
    errors,
    events,
    gateway,
    host,
    inspection,
    likeness,
    messages,
    modes,
    origins,
    parts,
    plugin,
    tools,
)
from markdown_text import code, docstring, table

CHAPTERS: dict[str, ModuleType] = {
    "The plugin": plugin,
    "Tools": tools,
    "Commands, checks, jobs, routes, reviewers": parts,
    "Events and verdicts": events,
    "Messages": messages,
    "Origins and effects": origins,
    "Host, context and services": host,
    "Comparing by meaning": likeness,
    "Conversations": conversations,
    "Modes": modes,
    "The gateway": gateway,
    "What core tells of itself": inspection,
    "Drivers": drivers,
    "Errors": errors,
}
INTRO = """# Types

Import these from `hookline_hookspecs`, or from the module that is named below a heading. Events are
frozen: a pipeline step returns `dataclasses.replace(event, …)`. New data arrives as new optional
fields.
"""


def page() -> str:
    """The page as Markdown."""
    parts_of_page = [INTRO]
    for title, module in CHAPTERS.items():
        parts_of_page.append(f"## {title}\n")
        parts_of_page += [_described(kind) for kind in public_classes(module)]
    return "\n".join(parts_of_page)


def public_classes(module: ModuleType) -> list[type]:
    """The classes that a module defines for others, as they stand in its source."""
    return [
        kind
        for name, kind in vars(module).items()
        if inspect.isclass(kind) and kind.__module__ == module.__name__ and name[0] != "_"
    ]


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
        return code(repr(field.default))
    if field.default_factory is not dataclasses.MISSING:
        return code(repr(field.default_factory()))
    return ""


def _described(kind: type) -> str:
    anchor = f'<a id="{kind.__name__}"></a>\n'
    lines = [anchor, f"### `{kind.__name__}`\n", docstring(kind.__doc__), ""]
    if kind.__name__ not in hookline_hookspecs.__all__:
        lines += [f"`from {kind.__module__} import {kind.__name__}`", ""]
    if dataclasses.is_dataclass(kind):
        lines += [fields(kind), ""]
    else:
        lines += [_attributes(kind), ""]
    lines += _methods(kind)
    return "\n".join(lines)


def _attributes(kind: type) -> str:
    annotations = {
        name: str(annotation)
        for name, annotation in vars(kind).get("__annotations__", {}).items()
        if not name.startswith("_")
    }
    docs = _attribute_docs(kind)
    told = [
        f"`{name}: {annotations[name]}`\n:   {docs[name]}\n" for name in annotations if name in docs
    ]
    rows = [(code(name), code(text)) for name, text in annotations.items() if name not in docs]
    return "\n".join([*([table(("attribute", "type"), rows)] if rows else []), *told])


def _attribute_docs(kind: type) -> dict[str, str]:
    """The docstrings that stand below a class's annotated attributes."""
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
    """How a public method or property is written by its user; empty for anything else."""
    function = _function(member)
    if (name.startswith("_") and name != "__getitem__") or not inspect.isfunction(function):
        return ""
    signature = inspect.signature(function)
    if isinstance(member, property):
        return f"{name}: {signature.return_annotation}"
    shown = [p for p in signature.parameters.values() if p.name not in ("self", "cls")]
    plain = str(signature.replace(parameters=shown)).replace("'", "")
    return ("async " if inspect.iscoroutinefunction(function) else "") + name + plain
