"""Errors in a config, as sentences: where, which key, what to do.

`Lines` maps a key to the place that set it: a line of config.yaml, or the name of something else,
such as `HOOKLINE_MODEL`.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from hookline_hookspecs import HooklineError

Key: TypeAlias = tuple[str, ...]
Lines: TypeAlias = Mapping[Key, int | str]

MASK = "********"
NO_KEY = "none"
PRIVATE_KEY = "-----BEGIN "
SPACE_AROUND = "begins or ends with a space or the end of a line, which is left out."
SHORTEST_SECRET = 6
SECRET_NAME = re.compile(
    r"(api[-_]?keys?|tokens?|secrets?|passwor[dt]|passwd|passphrase|credentials?|authorization|_key)$", re.I
)
URL_PASSWORD = re.compile(r"://[^/\s:@]*:([^/\s]+)(?=@)")


class ConfigError(HooklineError):
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


def sentence(path: Path | str, lines: Lines, key: Key, text: str) -> str:
    """`text` about `key`, after the place that set the key or the nearest section around it."""
    around = (key[:length] for length in range(len(key), 0, -1))
    place = next((lines[outer] for outer in around if outer in lines), str(path))
    where = place if isinstance(place, str) else f"{path}:{place}"
    return ": ".join(filter(None, (where, ".".join(key), text)))


def is_secret(key: Key) -> bool:
    """Whether a key, or a section around it, is named like a secret."""
    return any(map(SECRET_NAME.search, key))


def fault_of_secret(text: str, key: Key) -> str | None:
    """Why a secret cannot be used as it is written, or None; what is said does not repeat it."""
    line = text.replace("\n", "") if text.startswith(PRIVATE_KEY) else text
    if line.isprintable() and not ("headers" in key and max(line, default="") > "\xff"):
        return None
    return "holds a control character, or a letter that an HTTP header cannot carry; write it without."


def masked(text: str, key: Key) -> str:
    """The `text` at `key` with a mask for passwords in URLs, or for all of it if it is a secret."""
    return MASK if is_secret(key) else URL_PASSWORD.sub(lambda found: found[0].removesuffix(found[1]) + MASK, text)


def map_scalars(value: Any, key: Key, change: Callable[[Any, Key], Any]) -> Any:
    """The `value` at `key` with `change(scalar, its key)` in place of every scalar in it."""
    if isinstance(value, dict):
        return {name: map_scalars(inner, (*key, name), change) for name, inner in value.items()}
    if isinstance(value, list):
        return [map_scalars(inner, (*key, str(index)), change) for index, inner in enumerate(value)]
    return change(value, key)


def quoted(value: object, key: Key) -> str:
    """The `value` at `key` for a sentence: shortened, secrets masked."""
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    return masked(json.dumps(value, ensure_ascii=False, default=str), key)[:60]


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name most similar to `name`, or None if none is similar."""
    return next(iter(difflib.get_close_matches(name, names, 1)), None)
