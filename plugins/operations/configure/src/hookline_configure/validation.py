"""Finds every error in config.yaml at once, even if one of them keeps it from loading."""

from __future__ import annotations

import difflib
import json
import re
from importlib.metadata import entry_points
from pathlib import Path

from hookline_hookspecs import Configuration, HooklineError
from hookline_hookspecs.setting_errors import setting_errors
from pydantic import BaseModel, ValidationError

from .plugin_names import installed_entry_points, kind_of, known_plugins

NEAR_NAME = 0.8
"""How similar a name is, from 0 to 1, that was probably meant."""
UNKNOWN = ": unknown key"
LEFT_OUT = "is left out."
"""The end of a warning about a part of a plugin's settings that is ignored."""
_TOP_KEY = re.compile(r"[^\s#]")
_SECTIONS = ("plugins:", "providers:")
"""Sections whose errors do not keep the rest from loading."""
_LINE = re.compile(r"^(.*?):\d+: ")
_UNKNOWN_KEY = re.compile(
    r": (?P<key>[^\s:]+): unknown key(?:; did you mean (?P<near>[^\s?]+)\?)?(?P<rest>.*)"
)


def find_problems(core: Configuration, path: Path) -> tuple[list[str], list[str]]:
    """Messages about every error, unknown keys included, and the other warnings.

    An error in core's own keys hides errors in the sections of plugins and providers, so these
    sections are also checked alone, in a text in which all other lines are empty.
    """
    problems: list[str] = []
    try:
        found, warnings = core.check()
    except HooklineError as error:
        problems = str(error).split("\n")
        try:
            if not path.is_file():  # reading a pipe may never end
                return problems, []
            rest = _plugin_sections(path.read_bytes().decode("utf-8-sig"))
            found, warnings = core.check(rest, plugins=True)
        except (HooklineError, OSError, ValueError):
            return problems, []
    wrong = [warning for warning in warnings if UNKNOWN in warning or warning.endswith(LEFT_OUT)]
    others = [warning for warning in warnings if warning not in wrong]
    return list(dict.fromkeys([*problems, *found, *wrong])), others


def new_problems(core: Configuration, before: str, after: str) -> list[str]:
    """Errors that keep ``after`` from loading and that ``before`` does not have."""
    old = {_LINE.sub("", text) for text in _fatal_errors(core, before)}
    return [text for text in _fatal_errors(core, after) if _LINE.sub("", text) not in old]


def _fatal_errors(core: Configuration, text: str) -> list[str]:
    try:
        core.check(text)
    except HooklineError as error:
        return str(error).split("\n")
    return []


def unknown_key_problem(core: Configuration, text: str, key: tuple[str, ...]) -> str | None:
    """An error if the new value at ``key`` in ``text`` has an unknown key, which may be misspelt.

    None if all keys are known.
    """
    try:
        warnings = core.check(text)[1]
    except HooklineError as error:
        warnings = str(error).split("\n")
    dotted = ".".join(key)
    for found in filter(None, map(_UNKNOWN_KEY.search, warnings)):
        wrong, near = found["key"], found["near"]
        if wrong == dotted and len(key) > 1 and not near:
            rest = found["rest"].replace(", ignored.", "; `hookline config schema` shows all keys.")
            return f"{wrong}: unknown key{rest}"
        if near and (f"{wrong}.".startswith(f"{dotted}.") or wrong == key[0]):
            section = wrong.rpartition(".")[0]
            return f"{wrong}: unknown key; did you mean {f'{section}.' * bool(section)}{near}?"
        if wrong == key[0]:
            message = f"{wrong}: unknown key; `hookline config schema` shows all keys"
            if entry_points(group="hookline.plugins", name=wrong):
                return f"{message}; the plugin's settings are below `plugins.{wrong}`."
            return f"{message}; a plugin's settings are below `plugins.NAME`."
    return None


def store_problem(value: object) -> str | None:
    """Why ``value`` cannot be the ``store``: its driver is not installed; or None."""
    name = str(value).split(":", 1)[0]
    known = entry_points(group="hookline.stores").names
    if not isinstance(value, str) or name in known:
        return None
    near = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean {near[0]}?" if near else f"installed are {', '.join(sorted(known))}."
    return f"store: the store {name!r} is not installed; {hint}"


def misspelt_name_problem(core: Configuration, before: object, after: object) -> str | None:
    """Why the config ``after`` names a plugin or provider wrongly that ``before`` does not name.

    None if no known name is similar: a package that is to be installed may have any name.
    """
    for name in _new_names(before, after, "plugins"):
        kind = kind_of(name)
        known = known_plugins() | entry_points(group="hookline.plugins").names
        near = difflib.get_close_matches(kind, known, 1, NEAR_NAME)
        if near and kind not in known:
            return (
                f"plugins.{name}: no plugin has this name; did you mean plugins.{near[0]}? If it "
                "has, install it first: hookline plugins install PACKAGE."
            )
    for name in _new_names(before, after, "providers"):
        near_provider = _near_provider(core, name)
        if near_provider and not re.match(rf"{re.escape(near_provider)}[\W\d_]", name):
            return (
                f"providers.{name}: no provider has this name; did you mean "
                f"providers.{near_provider}? A second one may be called {near_provider}-{name}."
            )
    return None


def _new_names(before: object, after: object, section: str) -> list[str]:
    old, new = (
        found.get(section) if isinstance(found, dict) else None for found in (before, after)
    )
    if not isinstance(new, dict):
        return []
    return [str(name) for name in new if not isinstance(old, dict) or name not in old]


def _near_provider(core: Configuration, name: str) -> str | None:
    """Return the known provider that ``name`` is most similar to; None if it is known or new."""
    try:
        problems = core.check(f"providers: {{{json.dumps(name)}: {{}}}}")[0]
    except HooklineError:
        return None
    found = re.search(rf"provider {name!r} .*did you mean ([^\s?]+)\?", "\n".join(problems))
    near = found[1] if found else ""
    return near if difflib.SequenceMatcher(None, name, near).ratio() >= NEAR_NAME else None


def near_key(values: object, key: str) -> str | None:
    """Return the existing key of nested ``values`` that is most similar to a missing dotted one."""
    found: list[str] = []
    for name in key.split("."):
        if not isinstance(values, dict):
            return None
        if name not in values:
            near = difflib.get_close_matches(name, map(str, values), 1, cutoff=0.5)
            if not near:
                return None
            name = near[0]
        found.append(name)
        values = values[name]
    return ".".join(found)


def setting_problem(core: Configuration, text: str, key: tuple[str, ...]) -> str | None:
    """Why the plugin would refuse the setting at ``key`` in ``text``, or None.

    No other plugin is imported.
    """
    if len(key) < 3 or key[0] != "plugins":
        return None
    try:
        settings = core.effective(text)["plugins"].get(key[1])
        (point,) = installed_entry_points(key[1])
        model: type[BaseModel] = point.load().config_class
        known = [field.alias or name for name, field in model.model_fields.items()]
        near = difflib.get_close_matches(key[2], known, 1)
        takes_any = model.model_config.get("extra") == "allow"
        if key[2] not in (*known, "enabled") and (near or not takes_any):
            hint = (
                f"did you mean plugins.{key[1]}.{near[0]}?"
                if near
                else "its settings are " + (", ".join(sorted(known)) or "none")
            )
            return f"{'.'.join(key)}: unknown key; {hint}"
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
    except Exception:  # not installed or cannot be imported: other commands report it
        return None
    return None


def _plugin_sections(text: str) -> str:
    """The text with only the sections of plugins and providers; all other lines are empty."""
    lines, keeps = [], False
    for line in text.split("\n"):
        if _TOP_KEY.match(line):
            keeps = line.startswith(_SECTIONS)
        lines.append(line if keeps else "")
    return "\n".join(lines)
