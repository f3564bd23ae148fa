"""What can be wrong with a config, and how it is told: where, which key, what to do.

Every sentence is built by `say`. `Lines` gives the place of a key: a line of config.yaml, or what
set the key instead of the file, such as `HOOKLINE_MODEL`.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeAlias

Key: TypeAlias = tuple[str, ...]
Lines: TypeAlias = Mapping[Key, int | str]
Fault: TypeAlias = tuple[Key, str]

MASK = "********"
NO_KEY = "none"
SECRET_NAME = re.compile(r"(api[-_]?keys?|tokens?|secret|password|authorization|_key)$", re.I)
_URL_PASSWORD = re.compile(r"(://[^/\s:@]*:)[^/\s]+(?=@)")


class _Problems(Exception):
    """One or more sentences, a line each; `problems` has them one by one."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class ConfigError(_Problems):
    """The config cannot be used; a command ends with exit code 2."""


class NoModel(ConfigError):
    """No model is configured, and no variable names a provider."""


class SettingsError(_Problems):
    """A plugin's own settings are wrong; that plugin stays off."""


def place(path: Path, lines: Lines, key: Key) -> str:
    """Where `key`, or the nearest section around it, was set: `FILE:LINE` or a variable's name."""
    for length in range(len(key), 0, -1):
        origin = lines.get(key[:length])
        if origin is not None:
            return origin if isinstance(origin, str) else f"{path}:{origin}"
    return str(path)


def say(path: Path, lines: Lines, key: Key, text: str) -> str:
    """The sentence `text` about `key`, with its place in front."""
    dotted = ".".join(key)
    return f"{place(path, lines, key)}: {dotted}: {text}" if key else f"{path}: {text}"


def shown(value: object, key: Key = ()) -> str:
    """A value as a sentence quotes it: shortened, and never a secret."""
    if isinstance(value, Mapping | list | tuple):
        return "a mapping" if isinstance(value, Mapping) else "a list"
    if any(SECRET_NAME.search(part) for part in key):
        return MASK
    text = json.dumps(value, ensure_ascii=False, default=str)
    return mask_passwords(text if len(text) <= 60 else text[:57] + "...")


def mask_passwords(text: str) -> str:
    """`text` with the passwords of its URLs masked."""
    return _URL_PASSWORD.sub(rf"\1{MASK}", text)


def nearest(name: str, names: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The name most like `name`, or None; case, dashes and underscores do not count."""
    plain = {known.lower().replace("-", "_"): known for known in names}
    found = difflib.get_close_matches(name.lower().replace("-", "_"), plain, 1, cutoff)
    return plain[found[0]] if found else None
