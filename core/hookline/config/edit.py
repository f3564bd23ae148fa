"""Changes config.yaml in place: comments and order stay, and a file that loads keeps loading."""

from __future__ import annotations

import io
import os
import re
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import yaml

from .document import Document, cover, put, read_text, read_value, uncover
from .load import load_text
from .problems import ConfigError, Key

_COMMENT = re.compile(r"(?:^|(?<=\s))#.*$", re.M)


def set_value(
    path: Path, key: str, value_yaml: str, env: Mapping[str, str] = os.environ
) -> tuple[str, ...]:
    """Set a dotted `key` of the config at `path` to a value written as YAML; returns warnings.

    The file is made if there is none. Raises ConfigError, and leaves the file alone, if the value
    is no YAML or the file would not load with it.
    """
    parts = tuple(key.split("."))
    if "" in parts:
        raise ConfigError(f"{key}: not a key; write it like session.idle_hours.")
    value, faults = read_value(value_yaml, key)
    if faults:
        raise ConfigError(*(text for _, text in faults))
    return _set(path, parts, value, env)


def set_plugin(
    path: Path, name: str, enabled: bool, env: Mapping[str, str] = os.environ
) -> tuple[str, ...]:
    """Switch a plugin on or off; its settings are kept, below an `enabled: false`.

    Returns warnings. Raises ConfigError, and leaves the file alone, if it would not load.
    """
    return _set(path, ("plugins", name), enabled, env)


def _set(path: Path, key: Key, value: object, env: Mapping[str, str]) -> tuple[str, ...]:
    text = read_text(path)
    wanted = Document(path, text).values
    key = put(wanted, key, value)
    edited = _edited(path, text, key, value)
    document = Document(path, edited)
    lost = _comments(text) - _comments(edited)
    if lost and key in document.lines:
        # Comments inside a value that was replaced move above its key.
        lines = edited.split("\n")
        at = int(document.lines[key]) - 1
        indent = lines[at][: len(lines[at]) - len(lines[at].lstrip(" "))]
        edited = "\n".join([*lines[:at], *(indent + comment for comment in lost), *lines[at:]])
    if Document(path, edited).values != wanted or _comments(text) - _comments(edited):
        dotted = ".".join(key)
        raise ConfigError(f"{path}: {dotted} cannot be set without harm; edit the file by hand.")
    loaded = load_text(edited, path, env)
    entry = loaded.plugins.get(key[1]) if key[0] == "plugins" and len(key) == 2 else None
    if entry and entry.error and not isinstance(value, bool | dict):
        raise ConfigError(entry.error)
    _write(path, edited)
    return loaded.warnings


def _edited(path: Path, text: str, key: Key, value: object) -> str:
    """The text with `value` at `key`. ruamel.yaml is slow to import: only here."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    editor = YAML()
    editor.preserve_quotes = True
    editor.width = 4096
    out = io.StringIO()
    try:
        tree = editor.load(cover(text))
        before = text if tree is None else ""
        tree = {} if tree is None else tree
        put(tree, key, value)
        editor.dump(tree, out)
    except YAMLError as error:
        reason = str(error).split("\n")[0]
        raise ConfigError(f"{path}: cannot be edited ({reason}); edit it by hand.") from None
    # A file of comments alone is no tree: the new key goes below them.
    return (before.rstrip() + "\n" if before.strip() else "") + uncover(out.getvalue())


def _comments(text: str) -> Counter[str]:
    """The comments of a YAML text; a # inside a value is none."""
    bare = text
    for token in yaml.scan(cover(text), Loader=yaml.CSafeLoader):
        if isinstance(token, yaml.ScalarToken):
            start, end = token.start_mark.index, token.end_mark.index
            bare = bare[:start] + re.sub(r"[^\n]", "x", bare[start:end]) + bare[end:]
    return Counter(match[0].strip() for match in _COMMENT.finditer(bare))


def _write(path: Path, text: str) -> None:
    """Replace the file whole, or not at all; mode 0600. A link stays one."""
    target = path.resolve()
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=".config-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}.") from None
