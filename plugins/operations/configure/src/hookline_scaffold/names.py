"""Checks the name of a new plugin and derives the names of its package, module and class."""

from __future__ import annotations

import builtins
import keyword
import os
import re
import sys
import unicodedata
from dataclasses import dataclass
from importlib.machinery import PathFinder
from importlib.metadata import PackageNotFoundError, entry_points, requires

import hookline_hookspecs

PREFIX = "hookline"
MAX_NAME_CHARS = 63
"""A tool's name, which contains the plugin's name, has at most 64."""
MAX_SHOWN_CHARS = 80
"""Characters of a refused name, escaped, that the error shows."""
TOOL_SUFFIX = "_greet"
GROUPS = ("hookline.plugins", "hookline.providers", "hookline.stores")
YAML_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})
"""Words that YAML does not read as text, so they cannot be keys in config.yaml."""
IMPORTED_BY_TEMPLATES = frozenset(
    {
        *("AbstractAsyncContextManager", "Any", "AsyncIterator", "Awaitable", "BaseModel"),
        *("Callable", "Config", "Connection", "Field", "FolderChannel", "Harness", "Iterator"),
        *("MakeHarness", "Mapping", "Migration", "Notes", "Path", "PluginContract", "Sequence"),
        *("BaseHTTPRequestHandler", "FakeServer", "ProviderContract", "ThreadingHTTPServer"),
        *("Shell", "SqlConnection", "T", "ThreadPoolExecutor", "TypeVar"),
    }
)
"""Names that the generated modules use, besides those of ``hookline_hookspecs``."""
_GOOD = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


class InvalidPluginName(ValueError):
    """The name cannot be used for a plugin; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class PluginNames:
    """The names of one plugin. ``plugin`` is the config key and the entry point."""

    plugin: str

    @property
    def dist(self) -> str:
        """The name of the package: ``hookline-my-weather``."""
        return f"{PREFIX}-{self.plugin}"

    @property
    def module(self) -> str:
        """The import name: ``hookline_my_weather``."""
        return self.dist.replace("-", "_")

    @property
    def class_name(self) -> str:
        """``MyWeather``; with a prefix if that would hide another name or look like a test."""
        name = "".join(part.capitalize() for part in self.plugin.split("-"))
        hidden = {*dir(builtins), *hookline_hookspecs.__all__, *IMPORTED_BY_TEMPLATES}
        clashes = name in hidden or name.startswith("Test")
        return f"{PREFIX.capitalize()}{name}" if clashes else name

    @property
    def tool(self) -> str:
        """The name of the example tool, unique to this plugin."""
        room = 64 - len(TOOL_SUFFIX)
        return self.plugin.replace("-", "_")[:room].rstrip("_") + TOOL_SUFFIX


def derive_names(text: str) -> PluginNames:
    """The names for a plugin name such as ``weather``, ``my-weather`` or ``hookline-weather``.

    Raises:
        InvalidPluginName: it cannot be used.
    """
    name = text.removeprefix(f"{PREFIX}-")
    _refuse_ill_formed(name)
    _refuse_reserved(name)
    _refuse_taken(PluginNames(name))
    return PluginNames(name)


def _refuse_ill_formed(name: str) -> None:
    rule = "lower-case letters a to z and digits, a letter first, words joined by single dashes"
    if not name:
        raise InvalidPluginName(f"the name is empty; use {rule}, such as my-weather")
    shown = ascii(name)
    shown = shown if len(shown) <= MAX_SHOWN_CHARS else f"{shown[:MAX_SHOWN_CHARS]}..."
    strange = next((c for c in name if not c.isascii()), None)
    if strange is not None:
        character = f"{strange!a} ({unicodedata.name(strange, 'unnamed')})"
        raise InvalidPluginName(f"the name {shown} contains {character}; use {rule}")
    if len(name) > MAX_NAME_CHARS:
        raise InvalidPluginName(
            f"the name {shown} has {len(name)} characters; at most {MAX_NAME_CHARS} are allowed"
        )
    if not _GOOD.fullmatch(name):
        near = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-0123456789")
        hint = f"; did you mean {near}?" if _GOOD.fullmatch(near) else ""
        raise InvalidPluginName(f"{shown} is not a valid plugin name; use {rule}{hint}")


def _refuse_reserved(name: str) -> None:
    other = f"choose another name, such as my-{name}"
    module = name.replace("-", "_")
    if name == PREFIX or name.startswith(f"{PREFIX}-"):
        raise InvalidPluginName(
            f"{name!r} is Hookline's own name; leave out {PREFIX!r}, it is added"
        )
    if keyword.iskeyword(name):
        raise InvalidPluginName(f"{name!r} is a Python keyword; {other}")
    if name in YAML_WORDS:
        raise InvalidPluginName(
            f"YAML does not read {name!r} as text, so it cannot be a config key; {other}"
        )
    if module in sys.stdlib_module_names:
        raise InvalidPluginName(f"{name!r} is a module of Python's standard library; {other}")


def _refuse_taken(names: PluginNames) -> None:
    other = f"choose another name, such as my-{names.plugin}"
    for group in GROUPS:
        for entry in entry_points(group=group):
            if _normal(entry.name) == names.plugin:
                dist = entry.dist.name if entry.dist else "an installed package"
                raise InvalidPluginName(f"{dist} already has a plugin {names.plugin!r}; {other}")
    if names.dist in _dists_of_hookline():
        raise InvalidPluginName(f"{names.plugin!r} is one of Hookline's own plugins; {other}")
    for module in (names.plugin.replace("-", "_"), names.module):
        if _is_installed(module):
            raise InvalidPluginName(f"a module {module!r} is already installed; {other}")


def _dists_of_hookline() -> set[str]:
    """The packages in Hookline's extras, installed or not."""
    try:
        requirements = requires(PREFIX) or []
    except PackageNotFoundError:
        return set()
    return {_normal(re.split(r"[^\w.-]", text, maxsplit=1)[0]) for text in requirements}


def _is_installed(module: str) -> bool:
    """Whether a module is installed, outside the current folder; imports nothing."""
    here = os.path.realpath(os.curdir)
    path = [entry for entry in sys.path if entry and os.path.realpath(entry) != here]
    return PathFinder.find_spec(module, path) is not None


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
