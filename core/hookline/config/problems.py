"""What can be wrong with a config, and how it is told: where, which key, what to do.

Every sentence is built by `say`. `Lines` gives the place of a key: a line of config.yaml, or what
set the key instead of the file, such as `HOOKLINE_MODEL`.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

Key: TypeAlias = tuple[str, ...]
Lines: TypeAlias = Mapping[Key, int | str]

MASK = "********"
NO_KEY = "none"
SECRET_NAME = re.compile(r"(api[-_]?keys?|tokens?|secret|password|authorization|_key)$", re.I)
_URL_PASSWORD = re.compile(r"(://[^/\s:@]*:)[^/\s]+(?=@)")


class ConfigError(Exception):
    """The config cannot be used; a command ends with exit code 2.

    The text is one or more sentences, one per line; `problems` holds them one by one.
    """

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class NoModel(ConfigError):
    """No model is configured, and no variable names a provider."""


class SettingsError(ConfigError):
    """Values do not fit their model. Where they are a plugin's settings, that plugin stays off."""


def say(path: Path | str, lines: Lines, key: Key, text: str) -> str:
    """The sentence `text` about `key`, after the place where it, or what is around it, was set."""
    around = (key[:length] for length in range(len(key), 0, -1))
    place = next((lines[outer] for outer in around if outer in lines), str(path))
    where = place if isinstance(place, str) else f"{path}:{place}"
    return ": ".join(filter(None, (where, ".".join(key), text)))


def is_secret(key: Key) -> bool:
    """Whether a key, or a section around it, is named like a secret."""
    return any(map(SECRET_NAME.search, key))


def masked(text: str, key: Key) -> str:
    """`text`, which stands at `key`, without the secret it is or the passwords of its URLs."""
    return MASK if is_secret(key) else _URL_PASSWORD.sub(rf"\1{MASK}", text)


def each(value: Any, key: Key, change: Callable[[Any, Key], Any]) -> Any:
    """`value`, which stands at `key`, with `change` made to all in it but mappings and lists."""
    if isinstance(value, dict):
        return {name: each(inner, (*key, name), change) for name, inner in value.items()}
    if isinstance(value, list):
        return [each(inner, (*key, str(index)), change) for index, inner in enumerate(value)]
    return change(value, key)


def shown(value: object, key: Key) -> str:
    """A value as a sentence quotes it: shortened, and never a secret."""
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    return masked(json.dumps(value, ensure_ascii=False, default=str), key)[:60]


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name most like `name`, or None."""
    return next(iter(difflib.get_close_matches(name, names, 1)), None)
