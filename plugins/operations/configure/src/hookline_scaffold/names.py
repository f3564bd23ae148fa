"""What a plugin may be called, and the other names that follow from it."""

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
MOST_CHARACTERS = 63
"""A tool's name has at most 64, and the plugin's stands in it."""
SHOWN = 80
"""Characters of a refused name, escaped, that the sentence shows."""
TOOL_SUFFIX = "_greet"
GROUPS = ("hookline.plugins", "hookline.providers", "hookline.stores")
YAML_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})
"""Words that YAML reads as something else than text, so that they cannot be a key of a config."""
IMPORTED_BY_TEMPLATES = frozenset(
    {
        *("AbstractAsyncContextManager", "Any", "AsyncIterator", "Awaitable", "BaseModel"),
        *("Callable", "Config", "Connection", "Field", "FolderChannel", "Harness", "Iterator"),
        *("MakeHarness", "Mapping", "Migration", "Notes", "Path", "PluginContract", "Sequence"),
        *("Shell", "SqlConnection", "T", "ThreadPoolExecutor", "TypeVar"),
    }
)
"""Names in the modules that are made, beside those of ``hookline_hookspecs``."""
_GOOD = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


class BadName(ValueError):
    """No plugin can be called so; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Names:
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
        """``MyWeather``; with a prefix where that would hide a name, or look like a test."""
        name = "".join(part.capitalize() for part in self.plugin.split("-"))
        hidden = {*dir(builtins), *hookline_hookspecs.__all__, *IMPORTED_BY_TEMPLATES}
        clashes = name in hidden or name.startswith("Test")
        return f"{PREFIX.capitalize()}{name}" if clashes else name

    @property
    def tool(self) -> str:
        """The name of the example's tool; no other plugin's tool has it."""
        room = 64 - len(TOOL_SUFFIX)
        return self.plugin.replace("-", "_")[:room].rstrip("_") + TOOL_SUFFIX


def named(text: str) -> Names:
    """The names for what a person wrote: ``weather``, ``my-weather`` or ``hookline-weather``.

    Raises:
        BadName: it cannot be a plugin's name here.
    """
    name = text.removeprefix(f"{PREFIX}-")
    _refuse_ill_formed(name)
    _refuse_reserved(name)
    _refuse_taken(Names(name))
    return Names(name)


def _refuse_ill_formed(name: str) -> None:
    rule = "small letters a to z and digits, a letter first, words joined by single dashes"
    if not name:
        raise BadName(f"the name is empty; write one with {rule}, such as my-weather")
    shown = ascii(name)
    shown = shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}..."
    strange = next((c for c in name if not c.isascii()), None)
    if strange is not None:
        told = f"{strange!a} ({unicodedata.name(strange, 'no letter')})"
        raise BadName(f"the name {shown} holds {told}; one has {rule}")
    if len(name) > MOST_CHARACTERS:
        raise BadName(
            f"the name {shown} has {len(name)} characters; {MOST_CHARACTERS} are the most"
        )
    if not _GOOD.fullmatch(name):
        near = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-0123456789")
        hint = f"; did you mean {near}?" if _GOOD.fullmatch(near) else ""
        raise BadName(f"{shown} cannot be a plugin's name: one has {rule}{hint}")


def _refuse_reserved(name: str) -> None:
    other = f"choose another, such as my-{name}"
    module = name.replace("-", "_")
    if name == PREFIX or name.startswith(f"{PREFIX}-"):
        raise BadName(f"{name!r} is Hookline's own name; leave {PREFIX!r} away, it is put in front")
    if keyword.iskeyword(name):
        raise BadName(f"{name!r} is a word of Python; {other}")
    if name in YAML_WORDS:
        raise BadName(f"{name!r} is no text in YAML, so config.yaml could not name it; {other}")
    if module in sys.stdlib_module_names:
        raise BadName(f"{name!r} is the name of a module of Python's standard library; {other}")


def _refuse_taken(names: Names) -> None:
    other = f"choose another, such as my-{names.plugin}"
    for group in GROUPS:
        for entry in entry_points(group=group):
            if _normal(entry.name) == names.plugin:
                dist = entry.dist.name if entry.dist else "an installed package"
                raise BadName(f"{dist} has a plugin {names.plugin!r} already; {other}")
    if names.dist in _dists_of_hookline():
        raise BadName(f"{names.plugin!r} is a plugin of Hookline's own; {other}")
    for module in (names.plugin.replace("-", "_"), names.module):
        if _is_installed(module):
            raise BadName(f"a module {module!r} is installed already; {other}")


def _dists_of_hookline() -> set[str]:
    """The packages that Hookline's extras name, installed or not."""
    try:
        requirements = requires(PREFIX) or []
    except PackageNotFoundError:
        return set()
    return {_normal(re.split(r"[^\w.-]", text, maxsplit=1)[0]) for text in requirements}


def _is_installed(module: str) -> bool:
    """Looks in what is installed, but not in the current folder; imports nothing."""
    here = os.path.realpath(os.curdir)
    path = [entry for entry in sys.path if entry and os.path.realpath(entry) != here]
    return PathFinder.find_spec(module, path) is not None


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
