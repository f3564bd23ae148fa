"""Environment variables in a config: `<home>/.env`, `HOOKLINE_…` and `${VAR}` in values."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path

from hookline_hookspecs.errors import ConfigError
from hookline_hookspecs.masking import URL_PASSWORD, is_secret_key
from hookline_hookspecs.setting_errors import Key
from hookline_hookspecs.vault import name_in

from .document import MAX_DEPTH, Document, read_text
from .keys import map_scalars, sentence
from .secret_values import MIN_SECRET_CHARS, NO_KEY, PRIVATE_KEY, SPACE_AROUND, fault_of_secret

PREFIX = "HOOKLINE_"
_ASSIGNMENT = re.compile(
    r"""(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(?:(['"])(.*?)\2|([^'"\s#].*?)?)(?:\s+#.*)?""", re.A
)
_REFERENCE = re.compile(r"\$?\$\{([^}:]*)(?::-([^}]*))?\}?")


def read_dotenv(path: Path, faults: list[str]) -> tuple[dict[str, str], list[str]]:
    """The variables in a `.env` file, and a warning for each invalid line.

    A line is `KEY=VALUE`, optionally after `export` and with quotes around the value; # begins a
    comment. `faults` is as in `read_text`.
    """
    values: dict[str, str] = {}
    warnings = []
    for number, line in enumerate(map(str.strip, read_text(path, faults).split("\n")), 1):
        match = _ASSIGNMENT.fullmatch(line)
        if match:
            name, quote, quoted, bare = match.groups(default="")
            values[name] = (quoted.replace("\\n", "\n") if quote == '"' else quoted) or bare
        elif line and not line.startswith("#"):
            warnings.append(f"{path}:{number}: not KEY=VALUE; this line is ignored.")
    return values, warnings


def overlay_variables(document: Document, env: Mapping[str, str], keys: Collection[str]) -> None:
    """Override the document with the `HOOKLINE_…` variables for the top-level `keys`.

    Empty variables are ignored.
    """
    for name in sorted(env):
        parts = name.removeprefix(PREFIX).lower().split("__")
        # Other variables, such as HOOKLINE_HOME, do not set a key.
        known = parts[0] in keys and len(parts) < MAX_DEPTH
        if name.startswith(PREFIX) and known and env[name].strip():
            key = _key(document.values, parts)
            try:
                found = Document(name, env[name], key)
                document.overlay(key, found.values, name, found.lines)
            except ConfigError:  # invalid YAML is used as text, such as an API key starting with @
                document.overlay(key, env[name], name)


def _key(values: object, parts: list[str]) -> Key:
    """The key for the parts of a variable's name, spelled as in the file if the file has it."""
    key: Key = ()
    rest = list(parts)
    while rest:
        part = rest.pop(0)
        written = values if isinstance(values, dict) else {}
        # One of several plugins of a kind, such as telegram:work.
        if key == ("plugins",) and rest:
            both = f"{part}:{rest[0]}"
            if any(_as_variable(name) == both for name in written):
                part, rest = both, rest[1:]
        # Plugin names use dashes, settings underscores.
        bare = part.replace("_", "-") if key == ("plugins",) else part
        same = (name for name in written if _as_variable(name) == part)
        key = (*key, next(same, bare))
        values = written.get(key[-1])
    return key


def _as_variable(name: str) -> str:
    """A key as it appears in a variable's name, in lower case."""
    return name.lower().replace("-", "_")


def expand(
    document: Document, env: Mapping[str, str]
) -> tuple[dict[Key, str], set[str], list[str]]:
    """Replace `${VAR}` and `${VAR:-default}` in all text.

    Returns faults, secrets and warnings. Faults are sentences by key about unset variables and
    unusable secrets. Secrets are the values of keys that are named like secrets, passwords in URLs,
    and variables that are passed to a program in its `env`.
    """
    faults: dict[Key, str] = {}
    warnings: list[str] = []
    secrets: set[str] = set()

    def replaced(match: re.Match[str], key: Key) -> str:
        name, default = match.groups()
        if match[0].startswith("$$"):
            return match[0][1:]
        if default is None and name not in env:
            text = f"{name or '${'} is not set; set it in .env or the environment, or write $${{."
            faults[key] = sentence(document.origin, document.lines, key, text)
        if name in env and "env" in key and len(env[name]) >= MIN_SECRET_CHARS:
            secrets.add(env[name])
        return env.get(name) or default or ""

    def expanded(value: object, key: Key) -> object:
        if isinstance(value, str):
            value = _REFERENCE.sub(lambda match: replaced(match, key), value)
            if name_in(value) is not None:
                return value
            if is_secret_key(key) or "headers" in key:
                place = partial(sentence, document.origin, document.lines, key)
                if value != value.strip() and not value.startswith(PRIVATE_KEY):
                    warnings.append(place(SPACE_AROUND))
                    value = value.strip()
                if (fault := fault_of_secret(value, key)) is not None:
                    faults.setdefault(key, place(fault))
            if is_secret_key(key):
                if 0 < len(value) < MIN_SECRET_CHARS and value.lower() not in (NO_KEY, "empty"):
                    warnings.append(place("is too short to be reliably masked in logs and errors."))
                # Shorter values would be masked inside ordinary words.
                secrets.update([value, *value.split()] if len(value) >= 4 else [])
            secrets.update(password for password in URL_PASSWORD.findall(value) if password)
        return value

    document.values = map_scalars(document.values, (), expanded)
    return faults, secrets - {NO_KEY}, warnings
