"""Edits config.yaml in place: keeps comments and order, and refuses what would not load."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from .document import Document, cover, put, read_text, uncover
from .load import load
from .problems import ConfigError, Key

_COMMENT = re.compile(r"(?m)(?:^|\s)(#.*)")
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\n]|'')*'")


def set_value(path: Path, key: str, value_yaml: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """Set a dotted `key` of the config at `path` to a value written as YAML; returns warnings.

    A mapping is merged into an existing one; `true` or `false` switches a plugin and keeps its
    settings. The file is created if there is none. Raises ConfigError, and leaves the file
    unchanged, if the value is not YAML, the file would not load with it, or comments would be
    lost.
    """
    parts = tuple(key.split("."))
    if "" in parts:
        raise ConfigError(f"{key}: not a key; write it like session.idle_hours.")
    value = Document(key, value_yaml, parts).values
    text = read_text(path)
    Document(path, text)  # The editor needs a text that this can read.
    edited = _edited(path, text, parts, value)
    before, after = (Counter(_COMMENT.findall(_QUOTED.sub("", t))) for t in (text, edited))
    if before - after:
        raise ConfigError(f"{path}: {key}: its comments would be lost; edit the file by hand.")
    loaded = load(path.parent, env, text=edited)
    _write(path, edited)
    return (*loaded.warnings, *(entry.error for entry in loaded.plugins.values() if entry.error))


def _edited(path: Path, text: str, key: Key, value: object) -> str:
    """The text with `value` at `key`. ruamel.yaml is imported here because that is slow."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    editor = YAML()
    editor.preserve_quotes = True
    editor.width = 4096
    out = io.StringIO()
    try:
        tree = editor.load(cover(text))
        # A file of comments alone is no tree: the new key goes below them.
        before = text.rstrip() + "\n" if tree is None and text.strip() else ""
        tree = {} if tree is None else tree
        put(tree, key, value)
        editor.dump(tree, out)
    except YAMLError as error:
        reason = str(error).split("\n")[0]
        raise ConfigError(f"{path}: cannot be edited ({reason}); edit it by hand.") from None
    return before + uncover(out.getvalue())


def _write(path: Path, text: str) -> None:
    """Replace the file atomically, with mode 0600. A symbolic link is kept."""
    target = path.resolve()
    fresh = target.with_name(".config.yaml.new")
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh.touch(mode=0o600)
        fresh.write_text(text, encoding="utf-8", newline="")
        fresh.replace(target)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}.") from None
