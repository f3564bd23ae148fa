"""Finds everything that is wrong with config.yaml at once, whatever keeps it from loading."""

from __future__ import annotations

import difflib
import re
from importlib.metadata import entry_points
from pathlib import Path

from hookline_hookspecs import Configuration, HooklineError
from hookline_hookspecs.setting_errors import setting_errors
from pydantic import BaseModel, ValidationError

from .kinds import installed

UNKNOWN = ": unknown key"
LEFT_OUT = "is left out."
"""How a warning ends that is about a part of a plugin's settings that is not used."""
_TOP_KEY = re.compile(r"[^\s#]")
_SECTIONS = ("plugins:", "providers:")
"""Sections whose errors keep nothing else from loading."""
_LINE = re.compile(r"^(.*?):\d+: ")
_UNKNOWN_KEY = re.compile(r": (?P<key>[^\s:]+): unknown key(?:; did you mean (?P<near>[^\s?]+)\?)?")


def every_problem(core: Configuration, path: Path) -> tuple[list[str], list[str]]:
    """Sentences about every error, unknown keys included, and warnings.

    An error in core's own keys hides those of plugins and providers, so these are looked for in a
    text without core's keys, of as many lines.
    """
    problems: list[str] = []
    try:
        found, warnings = core.check()
    except HooklineError as error:
        problems = str(error).split("\n")
        try:
            if not path.is_file():  # reading a pipe may never end
                return problems, []
            rest = _of_plugins(path.read_bytes().decode("utf-8-sig"))
            found, warnings = core.check(rest, plugins=True)
        except (HooklineError, OSError, ValueError):
            return problems, []
    wrong = [one for one in warnings if UNKNOWN in one or one.endswith(LEFT_OUT)]
    rest_of = [one for one in warnings if one not in wrong]
    return list(dict.fromkeys([*problems, *found, *wrong])), rest_of


def new_problems(core: Configuration, before: str, after: str) -> list[str]:
    """What keeps ``after`` from loading and does not keep ``before`` from it already."""
    had = {_LINE.sub("", text) for text in _stopping(core, before)}
    return [text for text in _stopping(core, after) if _LINE.sub("", text) not in had]


def _stopping(core: Configuration, text: str) -> list[str]:
    try:
        core.check(text)
    except HooklineError as error:
        return str(error).split("\n")
    return []


def unknown_key(core: Configuration, text: str, key: tuple[str, ...]) -> str | None:
    """Why ``text`` with a new value at ``key`` must not be written: an unknown key, most likely a
    misspelt one. None if there is no such key.

    Below the top level a key that is like no other is let through: a newer Hookline may know it.
    """
    try:
        warnings = core.check(text)[1]
    except HooklineError as error:
        warnings = str(error).split("\n")
    dotted = ".".join(key)
    for found in filter(None, map(_UNKNOWN_KEY.search, warnings)):
        wrong, near = found["key"], found["near"]
        if near and (f"{wrong}.".startswith(f"{dotted}.") or wrong == key[0]):
            section = wrong.rpartition(".")[0]
            return f"{wrong}: unknown key; did you mean {f'{section}.' * bool(section)}{near}?"
        if wrong == key[0]:
            told = f"{wrong}: unknown key; `hookline config schema` shows those there are"
            if entry_points(group="hookline.plugins", name=wrong):
                return f"{told}; the plugin's settings are below `plugins.{wrong}`."
            return f"{told}; a plugin's settings are below `plugins.NAME`."
    return None


def wrong_setting(core: Configuration, text: str, key: tuple[str, ...]) -> str | None:
    """Why the plugin would refuse the setting at ``key`` in ``text``; None where it does not.

    Of all plugins that one alone is imported.
    """
    if len(key) < 3 or key[0] != "plugins":
        return None
    try:
        settings = core.effective(text)["plugins"].get(key[1])
        (point,) = installed(key[1])
        model: type[BaseModel] = point.load().config_class
        known = [field.alias or name for name, field in model.model_fields.items()]
        near = difflib.get_close_matches(key[2], known, 1)
        if key[2] not in (*known, "enabled") and near:
            return f"{'.'.join(key)}: unknown key; did you mean plugins.{key[1]}.{near[0]}?"
        settings = settings if isinstance(settings, dict) else {}
        checked = model.model_validate(settings)
        for at, why in getattr(checked, "left_out", {}).items():
            length = min(len(at), len(key) - 2)
            if at[:length] == key[2 : 2 + length]:
                return f"{'.'.join((*key[:2], *at))}: {why}."
    except ValidationError as error:
        for at, why in setting_errors(error, settings, key[:2]).items():
            if at[: len(key)] == key:
                return f"{'.'.join(at)}: {why}"
    except Exception:  # not installed, or it cannot be imported: other commands say so
        return None
    return None


def _of_plugins(text: str) -> str:
    """The text with the sections of plugins and providers alone; other lines are left empty."""
    lines, keeps = [], False
    for line in text.split("\n"):
        if _TOP_KEY.match(line):
            keeps = line.startswith(_SECTIONS)
        lines.append(line if keeps else "")
    return "\n".join(lines)
