"""Writes the table that :mod:`.completer` reads: every command, option, plugin and config key.

There is one table for each home and Python interpreter. They are in the user's cache folder, so
that pressing Tab does not create a home.
"""

from __future__ import annotations

import json
import os
import re
import sysconfig
from collections.abc import Iterator, Mapping
from contextlib import suppress
from enum import Enum
from importlib.metadata import EntryPoint, entry_points
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import yaml
from hookline_hookspecs import HOOKS, HooklineError
from hookline_hookspecs.cli import CommandLine

from ..plugin_names import kind_of, known_plugins
from . import completer

GROUP = "hookline.plugins"
MODES = {
    "ask": "every change needs approval",
    "auto": "risky calls need approval",
    "plan": "no changes until a plan is accepted",
    "yolo": "nothing needs approval",
}
BY_NAME = {"session": "sessions", "model": "models", "mode": "modes"}
"""What an option or argument of this name takes, in any command."""
BY_COMMAND = {
    ("chat", "resumed"): "sessions",
    ("sessions", "words"): "sessions",
    ("hooks", "name"): "hooks",
    ("plugins enable", "names"): "disabled",
    ("plugins disable", "names"): "enabled",
    ("plugins info", "name"): "plugins",
    ("plugins purge", "name"): "plugins",
    ("plugins uninstall", "names"): "plugins",
    ("plugins install", "spec"): "files",
    ("plugins install", "editable"): "folders",
    ("config get", "key"): "keys",
    ("config set", "key"): "keys",
    ("config unset", "key"): "keys",
    ("config set", "value"): "values",
}
NOT_AFTER = {("sessions", "words"): ("list", "search")}
"""Words after which a command takes no such argument."""
_WORDS = re.compile(r"\[?([a-z]+(?:\|[a-z]+)+)\]?$")
_MODEL_KEYS = ("model", "auxiliary_model", "fallback_models")


def write_table(root: Any, line: CommandLine) -> Path:
    """Write the table for a home; ``root`` is the Click group with every plugin's commands."""
    folder = str(line.home)
    path = Path(completer.table_path(folder))
    before = completer.stamp(f"{folder}/config.yaml")
    site = sysconfig.get_path("purelib")
    installed = completer.stamp(site)
    table = {"format": completer.FORMAT, "home": folder, "config": before, "site": site}
    text = json.dumps(table | {"installed": installed} | _contents(root, line))
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_suffix(f".{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)
    Path(f"{path}.lock").unlink(missing_ok=True)
    return path


def _contents(root: Any, line: CommandLine) -> dict[str, Any]:
    core = line.configuration
    values: dict[str, Any] = {}
    with suppress(HooklineError):  # without a valid config, only its own keys are missing
        values = core.effective()
    points = {point.name: point for point in entry_points(group=GROUP)}
    plugins = {name: _summary(point) for name, point in sorted(points.items())}
    drivers = {point.name for kind in ("providers", "stores")
             for point in entry_points(group=f"hookline.{kind}")}  # fmt: skip
    known = sorted(known_plugins() - set(plugins) - drivers)
    data = yaml.load(
        files("hookline").joinpath("config/defaults.yaml").read_text("utf-8"), yaml.CSafeLoader
    )
    switches = values.get("plugins", dict.fromkeys(data["standard"], True))
    on = [name for name, value in switches.items() if value]
    owners = {command.name: command.plugin for command in line.commands if command.plugin}
    keys = dict(_keys(core.schema()))
    for name in plugins:
        keys[f"plugins.{name}"] = {"help": plugins[name], "kind": ["true", "false"]}
    for name in on:
        keys |= _settings(name, points.get(kind_of(name)))
    for key in _MODEL_KEYS:
        keys[key]["kind"] = "models"
    return {
        "commands": _command_node(root, ""),
        "owners": owners,
        "plugins": plugins,
        "known": dict.fromkeys(known, "not installed"),
        "on": on,
        "keys": dict(sorted(keys.items())),
        "lists": {
            "models": _models(data["presets"], values),
            "modes": MODES,
            "hooks": {name: hook.kind for name, hook in HOOKS.items()},
        },
    }


def _command_node(command: Any, path: str) -> dict[str, Any]:
    """A Click command's help, options, and arguments or subcommands."""
    found: dict[str, Any] = {"help": _first_sentence(command.help), "options": []}
    arguments = []
    for param in command.params:
        if getattr(param, "hidden", False):
            continue
        kind = _kind(param, path)
        if param.param_type_name == "argument":
            late = NOT_AFTER.get((path, param.name), ())
            arguments.append({"kind": kind, "many": param.nargs != 1, "not_after": late})
            continue
        found["options"].append(
            {
                "names": [*param.opts, *param.secondary_opts],
                "help": _first_sentence(param.help),
                "takes": not (param.is_flag or getattr(param, "count", False)),
                "many": bool(param.multiple),
                "kind": kind,
            }
        )
    found["options"].append({"names": ["--help", "-h"], "help": "Show the help", "takes": False})
    if hasattr(command, "commands"):
        found["commands"] = {}
        for name in command.commands:
            with suppress(Exception):  # a command that cannot be imported is left out
                if not (one := command.commands[name]).hidden:
                    found["commands"][name] = _command_node(one, f"{path} {name}".strip())
    else:
        found["arguments"] = arguments
    return found


def _kind(param: Any, path: str) -> Any:
    """What a parameter takes: the name of a list, words, files or folders; None for free text."""
    types = list(_types(param.type_descriptor.annotation))
    choices = [
        str(word) for kind in types if get_origin(kind) is Literal for word in get_args(kind)
    ]
    choices += [str(member.value) for kind in types if _is_a(kind, Enum) for member in kind]
    if choices:
        return choices
    if (path, param.name) in BY_COMMAND:
        return BY_COMMAND[path, param.name]
    if any(_is_a(kind, Path) for kind in types):
        takes_files = getattr(param.type_descriptor.parameter_info, "file_okay", True)
        return "files" if takes_files else "folders"
    if match := _WORDS.match(str(param.metavar or "")):
        return match[1].split("|")
    return BY_NAME.get(param.name)


def _types(annotation: Any) -> Iterator[Any]:
    """The types in an annotation; a Literal counts as one."""
    inner = () if get_origin(annotation) is Literal else get_args(annotation)
    if not inner:
        yield annotation
    for one in inner:
        yield from _types(one)


def _is_a(found: Any, base: type) -> bool:
    return isinstance(found, type) and issubclass(found, base)


def _keys(schema: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The dotted keys of a JSON schema."""
    pending = [("", schema)]
    while pending:
        prefix, node = pending.pop()
        for name, inner in node.get("properties", {}).items():
            rows = [_resolved(option, schema) for option in (inner, *inner.get("anyOf", ()))]
            key = f"{prefix}{name}"
            yield key, {"help": inner.get("description", ""), "kind": _choices(rows)}
            pending += [(f"{key}.", row) for row in rows if "properties" in row]


def _resolved(node: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = node.get("$ref", "")
    if not reference:
        return node
    found: Mapping[str, Any] = schema.get("$defs", {}).get(reference.rpartition("/")[2], {})
    return found


def _choices(nodes: list[Mapping[str, Any]]) -> list[str]:
    found = [str(word) for node in nodes for word in node.get("enum", ())]
    return found + [w for n in nodes if n.get("type") == "boolean" for w in ("true", "false")]


def _settings(name: str, point: EntryPoint | None) -> dict[str, Any]:
    """The config keys of a plugin that is on; it has been imported already."""
    try:
        schema = point.load().config_class.model_json_schema() if point else {}
    except Exception:  # `hookline plugins list` reports what is wrong with the plugin
        return {}
    return {f"plugins.{name}.{key}": found for key, found in _keys(schema)}


def _models(presets: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, str]:
    named = [values.get("model"), values.get("auxiliary_model"), *values.get("fallback_models", ())]
    found = {str(model): "in config.yaml" for model in named if model}
    for provider, preset in presets.items():
        for model in dict.fromkeys(
            [preset["model"], *(listed["name"] for listed in preset["models"])]
        ):
            found.setdefault(f"{provider}/{model}", "")
    return found


def _summary(point: EntryPoint) -> str:
    text = (point.dist.metadata["Summary"] if point.dist else "") or ""
    return _first_sentence(text.removeprefix("Hookline plugin: "))


def _first_sentence(text: str | None) -> str:
    """The first sentence of a text, without its full stop."""
    line = " ".join((text or "").split("\n\n")[0].split())
    return re.split(r"(?<=[.;])\s", line)[0].rstrip(".;")
