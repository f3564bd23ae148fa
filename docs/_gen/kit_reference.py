"""Generates the page about the exports of ``channelkit``, ``webkit`` and ``providerkit``."""

from __future__ import annotations

import inspect
from importlib import import_module
from types import ModuleType

from markdown_text import code, docstring, table
from module_reference import described, function

KITS = ("channelkit", "webkit", "providerkit")
INTRO = """# Kits

Libraries for plugins of one kind. A kit has no entry point: declare it as a dependency and import
it. A kit's exports are as stable as the [contract](../authors/versions.md); its other parts may
change.
"""


def page() -> str:
    """The page as Markdown."""
    return "\n".join([INTRO, *(_kit(import_module(f"hookline_{kit}")) for kit in KITS)])


def _kit(kit: ModuleType) -> str:
    name = kit.__name__
    exported = {one: getattr(kit, one) for one in sorted(kit.__all__)}
    classes = {one: value for one, value in exported.items() if inspect.isclass(value)}
    unwrapped = {one: inspect.unwrap(value) for one, value in exported.items() if callable(value)}
    functions = {one: value for one, value in unwrapped.items() if inspect.isfunction(value)}
    others = [
        (code(one), code(_shown(value)))
        for one, value in exported.items()
        if one not in classes and one not in functions
    ]
    dist = name.replace("_", "-")
    parts = [f"## `{name}`\n", f"Distribution `{dist}`.\n", docstring(kit.__doc__), ""]
    if others:
        parts += [table(("constant or alias", "value"), others), ""]
    parts += [described(kind) for kind in classes.values()]
    parts += [function(one, called) for one, called in functions.items()]
    return "\n".join(parts)


def _shown(value: object) -> str:
    """The value as Python writes it; a set in order, because its own order changes."""
    if isinstance(value, frozenset | set):
        return f"{{{', '.join(sorted(map(repr, value)))}}}"
    return repr(value)
