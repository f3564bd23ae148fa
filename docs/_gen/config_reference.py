"""Generates the page about config.yaml from core's pydantic models and the packaged defaults."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any, NamedTuple

import plugin_list
import yaml
from hookline.config.model import ConfigFile
from markdown_text import code, docstring, table

INTRO = """# Configuration

One file, `config.yaml` in Hookline's home (`~/.hookline`, or `HOOKLINE_HOME`). Every key is
optional. `${VAR}` and `${VAR:-default}` are replaced from the environment and from `.env` in the
same folder. An unknown key is a warning. An invalid value in a plugin's section switches that
plugin off and says why (in the section of `mcp`, only the server with the invalid value). An
invalid value elsewhere prevents the start.

Every key can be set for one run by an environment variable: `HOOKLINE_`, then the key in capitals,
nested with `__`, dashes as `_`. The value is read as YAML.
"""
PRESETS = """
## Presets

Providers that work without a section. Without `model`, the first one whose key or base-URL variable
is set is used.
"""
STANDARD = """
## The standard set

These plugins are on if they are installed and `plugins` does not switch them off. They are called
in this order; the first is outermost.
"""
PLAIN = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "null": "null",
    "object": "mapping",
}
BOUNDS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}


class Key(NamedTuple):
    """A config key: dotted path, type in words, default as YAML, description."""

    path: str
    kind: str
    default: str
    description: str

    @property
    def variable(self) -> str:
        """The environment variable that overrides it."""
        return "HOOKLINE_" + self.path.replace(".", "__").upper()


def page() -> str:
    """The page as Markdown."""
    found = list(keys())
    parts = [INTRO]
    for top in ConfigFile.model_fields:
        parts.append(f"## `{top}`\n")
        rows = [_row(key) for key in found if key.path.partition(".")[0] == top]
        parts.append(table(("key", "value", "default", "what"), rows) + "\n")
    defaults = yaml.safe_load(files("hookline.config").joinpath("defaults.yaml").read_text("utf-8"))
    parts += [PRESETS, _presets(defaults["presets"]), STANDARD, _standard(defaults["standard"])]
    return "\n".join(parts)


def keys() -> Iterator[Key]:
    """Every key of config.yaml, with its dotted path."""
    schema = ConfigFile.model_json_schema()
    yield from _keys(schema, schema["$defs"], "")


def _keys(section: Mapping[str, Any], defs: Mapping[str, Any], prefix: str) -> Iterator[Key]:
    for name, field in section["properties"].items():
        path = prefix + name
        inner = _section(field, defs)
        entries = _section(field.get("additionalProperties"), defs)
        default = "" if inner else json.dumps(field.get("default"), ensure_ascii=False)
        yield Key(path, _words(field, defs), default, field.get("description", ""))
        if inner:
            yield from _keys(inner, defs, f"{path}.")
        if entries:
            yield from _keys(entries, defs, f"{path}.NAME.")


def _section(field: Any, defs: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The schema of the section that a field refers to; None if it is not a section."""
    if not isinstance(field, Mapping) or "$ref" not in field:
        return None
    found: Mapping[str, Any] = defs[field["$ref"].rpartition("/")[2]]
    return found


def _words(field: Mapping[str, Any], defs: Mapping[str, Any]) -> str:
    if "anyOf" in field:
        return " or ".join(_words(option, defs) for option in field["anyOf"])
    if "$ref" in field:
        return "mapping"
    if field.get("type") == "array":
        return f"list of {_words(field['items'], defs)}"
    if field.get("format") == "password":
        return "secret text"
    words = PLAIN[field.get("type", "object")]
    bounds = [f"{sign} {field[name]:g}" for name, sign in BOUNDS.items() if name in field]
    return " ".join([words, *bounds])


def _row(key: Key) -> tuple[str, str, str, str]:
    default = code(key.default) if key.default else ""
    return code(key.path), key.kind, default, docstring(key.description).replace("\n", " ")


def _standard(order: list[str]) -> str:
    """The plugins of the standard set that are in this repository, in call order."""
    here = {found.name: found for found in plugin_list.plugins()}
    lines = [f"1. [{name}](../plugins/{here[name].file})" for name in order if name in here]
    return "\n".join(lines) + "\n"


def _presets(presets: Mapping[str, Any]) -> str:
    rows = [
        (
            code(name),
            code(preset["key_env"]) if preset["key_env"] else "none needed",
            code(preset["base_url_env"]),
            code(f"{name}/{preset['model']}"),
        )
        for name, preset in presets.items()
    ]
    return table(("provider", "key", "base URL", "default model"), rows)
