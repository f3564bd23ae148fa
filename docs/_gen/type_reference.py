"""Generates the page about the types that core and plugins share (``hookline_hookspecs``)."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

import hookline_hookspecs
from markdown_text import docstring
from module_reference import Value, described, public_classes, public_values, values_table

TITLES = {
    "plugin": "The plugin",
    "tools": "Tools",
    "parts": "Commands, checks, jobs, routes, reviewers",
    "verdicts": "Verdicts of guards",
    "inbound": "Messages from people",
    "turns": "Sessions and turns",
    "tool_results": "Tool results",
    "prompt": "Parts of the prompt",
    "requests": "Model requests and responses",
    "messages": "Messages of the history",
    "history": "Changes to the history",
    "questions": "Questions and choices",
    "replies": "Replies and notices",
    "learning": "What is remembered and read",
    "steps": "Steps and failures",
    "origins": "Origins and effects",
    "host": "Host and context",
    "channels": "Channels",
    "services": "Signals and services",
    "optional_services": "Services of plugins",
    "people": "People and roles",
    "web": "Web pages, routes and the web server",
    "storage": "Storage",
    "network": "The HTTP client",
    "paths": "Files",
    "conversations": "Conversations",
    "modes": "Modes",
    "permissions": "Permission rules",
    "gateway": "The gateway",
    "inspection": "Inspection of core and config",
    "drivers": "Drivers",
    "errors": "Errors",
}
"""The first chapters and their titles. Others follow, titled by their docstring's first line."""
OMITTED_MODULES = {"crash", "frozen", "hooks"}
"""Modules that plugins do not import; the hooks have their own page."""
INTRO = """# Types

Import these from `hookline_hookspecs`, or from the module named below the heading. Events are
frozen: a pipeline step returns `dataclasses.replace(event, …)`. New data is added as new optional
fields.
"""


def page() -> str:
    """The page as Markdown."""
    return "\n".join([INTRO, *(_chapter(title, module) for title, module in _chapters())])


def _chapters() -> Iterator[tuple[str, ModuleType]]:
    modules = {
        name: import_module(f"hookline_hookspecs.{name}")
        for _, name, _ in pkgutil.iter_modules(hookline_hookspecs.__path__)
        if name not in OMITTED_MODULES and not name.startswith("_")
    }
    for name in [*TITLES, *sorted(modules.keys() - TITLES)]:
        if name in modules:
            module = modules[name]
            if _classes(module) or _values(module):
                yield TITLES.get(name) or _title(module), module


def _title(module: ModuleType) -> str:
    first = docstring(inspect.getdoc(module)).partition("\n")[0]
    return first.partition(":")[0].rstrip(".")


def _chapter(title: str, module: ModuleType) -> str:
    exported = hookline_hookspecs.__all__
    values = values_table(_values(module))
    classes = [
        described(kind, "" if kind.__name__ in exported else module.__name__)
        for kind in _classes(module)
    ]
    text = "\n".join([f"## {title}\n", *([values] if values else []), *classes])
    # Anchors must be unique, but a package's names may also occur in another module.
    is_package = hasattr(module, "__path__")
    prefix = f"{module.__name__.rpartition('.')[2]}." if is_package else ""
    return text.replace('<a id="', f'<a id="{prefix}')


def _parts(module: ModuleType) -> list[ModuleType]:
    """A module, or the submodules of a package."""
    if not hasattr(module, "__path__"):
        return [module]
    names = [name for _, name, _ in pkgutil.iter_modules(module.__path__) if name[0] != "_"]
    return [import_module(f"{module.__name__}.{name}") for name in names]


def _classes(module: ModuleType) -> list[type]:
    """The public classes of a module, or those that a package exports."""
    found = [kind for part in _parts(module) for kind in public_classes(part)]
    if not hasattr(module, "__path__"):
        return found
    return [kind for kind in found if getattr(module, kind.__name__, None) is kind]


def _values(module: ModuleType) -> list[Value]:
    """The public type aliases and constants of a module, or those that a package exports."""
    if not hasattr(module, "__path__"):
        return public_values(module, hookline_hookspecs.__all__)
    exported = getattr(module, "__all__", ())
    found = [one for part in _parts(module) for one in public_values(part, exported)]
    return [one for one in found if one.name in exported]
