"""What the environment says: `<home>/.env`, `HOOKLINE_…` variables and `${VAR}` inside values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import BaseModel

from .document import Document, read_text, read_value
from .model import ConfigFile
from .problems import ConfigError, Fault, Key, nearest, say

PREFIX = "HOOKLINE_"
RESERVED = frozenset(
    PREFIX + name for name in ("HOME", "STRICT", "CRASH_AT", "CLOCK_OFFSET", "WEBHOOK_SECRET")
)
_ASSIGNMENT = re.compile(
    r"""(?:export\s+)?([A-Za-z_]\w*)\s*=\s*
    (?: '([^']*)' | "((?:[^"\\]|\\.)*)" | ([^'"\s\#].*?)? )
    (?:\s+\#.*)?""",
    re.X | re.A,
)
_GONE = object()
_REFERENCE = re.compile(r"\$\$\{|\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}|\$\{", re.A)


class _Unset(Exception):
    """A `${VAR}` that cannot be replaced."""


def read_dotenv(path: Path) -> tuple[dict[str, str], list[str]]:
    """The variables of a `.env` file, and a warning for each line that is none.

    A line is `KEY=VALUE`, after `export` or not, the value quoted or not; # begins a comment.
    """
    values: dict[str, str] = {}
    try:
        lines = read_text(path).split("\n")
    except ConfigError as error:
        return values, [str(error)]
    warnings = []
    for number, line in enumerate(map(str.strip, lines), 1):
        if not line or line.startswith("#"):
            continue
        match = _ASSIGNMENT.fullmatch(line)
        if match is None:
            warnings.append(f"{path}:{number}: not KEY=VALUE; this line is left out.")
            continue
        name, single, double, bare = match.groups()
        if double is not None:
            double = re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), double)
        values[name] = single or double or bare or ""
    return values, warnings


def overlay_variables(
    document: Document, env: Mapping[str, str], names: Mapping[str, Iterable[str]]
) -> list[str]:
    """Lay the `HOOKLINE_…` variables over the document; returns warnings.

    `names` are those that a section knows without the file: `plugins` and `providers`. An empty
    variable counts as not set.
    """
    warnings = []
    for name in sorted(env):
        parts = name.removeprefix(PREFIX).lower().split("__")
        if not name.startswith(PREFIX) or name in RESERVED or not env[name].strip():
            continue
        if parts[0] not in ConfigFile.model_fields or "" in parts:
            guess = nearest("__".join(parts), _known(), cutoff=0.8)
            if guess:
                guess = PREFIX + guess.upper()
                warnings.append(f"{name}: no such variable; did you mean {guess}?")
            continue
        key = _key(document.values, parts, names)
        try:
            value, faults = read_value(env[name], name, key)
        except ConfigError as error:
            document.faults.append((key, str(error)))
        else:
            document.faults += faults
            document.overlay(key, value, name)
    return warnings


def _known() -> Iterable[str]:
    for name, field in ConfigFile.model_fields.items():
        yield name
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from (f"{name}__{inner}" for inner in field.annotation.model_fields)


def _key(values: object, parts: list[str], names: Mapping[str, Iterable[str]]) -> Key:
    """The key that a variable's parts mean: names known or written win over the bare text."""
    key: Key = ()
    for part in parts:
        written = list(values) if isinstance(values, dict) else []
        known = [*written, *names.get(key[0], ())] if len(key) == 1 else written
        # Plugins are named with dashes, settings with underscores.
        bare = part.replace("_", "-") if key == ("plugins",) else part
        key = (*key, next((n for n in known if n.lower().replace("-", "_") == part), bare))
        values = values.get(key[-1]) if isinstance(values, dict) else None
    return key


def expand(document: Document, env: Mapping[str, str]) -> list[Fault]:
    """Replace `${VAR}` and `${VAR:-default}` in all text; what cannot be is taken out and told."""
    faults: list[Fault] = []

    def within(value: object, key: Key) -> object:
        if isinstance(value, dict):
            pairs = ((name, within(inner, (*key, name))) for name, inner in value.items())
            return {name: inner for name, inner in pairs if inner is not _GONE}
        if isinstance(value, list):
            items = (within(inner, (*key, str(index))) for index, inner in enumerate(value))
            return [inner for inner in items if inner is not _GONE]
        try:
            text = isinstance(value, str)
            return _REFERENCE.sub(lambda m: _replaced(m, env), str(value)) if text else value
        except _Unset as error:
            faults.append((key, say(document.path, document.lines, key, str(error))))
            return _GONE

    for name in list(document.values):
        value = within(document.values.pop(name), (name,))
        if value is not _GONE:
            document.values[name] = value
    return faults


def _replaced(match: re.Match[str], env: Mapping[str, str]) -> str:
    name, default = match.groups()
    if name is None and match[0] == "$${":
        return "${"
    if name is None:
        raise _Unset("${ begins a variable, but no NAME} follows; write $${ for the text ${.")
    value = env.get(name)
    if default is not None:
        return value or default
    if value is None:
        raise _Unset(f"{name} is not set; set it in the environment or in .env, beside the config.")
    return value
