"""The rules of a project: ``ask`` and ``deny`` in ``.hookline/permissions.yaml`` of the workspace.

A project may only be stricter than the person: somebody else may have written the file.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .rules import Kind, Rule, RuleError, parse_rule

PROJECT_FILE = Path(".hookline", "permissions.yaml")
MAX_PROJECT_FILE_BYTES = 100_000
"""Bytes of a project's file."""


@dataclass(frozen=True, slots=True)
class LoadedRules:
    """Rules, and sentences about those that cannot be used.

    ``errors`` are about ``deny`` and ``ask`` rules, without which nothing may be changed;
    ``warnings`` about what is ignored.
    """

    rules: tuple[Rule, ...] = ()
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class ProjectRules:
    """Reads the file of a workspace again when it has changed."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[tuple[int, int, int] | None, LoadedRules]] = {}

    def of(self, workspace: Path) -> LoadedRules:
        """The rules of a workspace; none without a file."""
        path = workspace / PROJECT_FILE
        try:
            status = path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return LoadedRules()
        except OSError as error:
            return _unreadable(f"cannot be read: {error.strerror}")
        version = (status.st_mtime_ns, status.st_size, status.st_ino)
        known = self._known.get(path)
        if known is None or known[0] != version:
            known = self._known[path] = (version, _load(path))
        return known[1]


def _load(path: Path) -> LoadedRules:
    import yaml

    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return _unreadable("is not a file. Move it away")
            data = file.read(MAX_PROJECT_FILE_BYTES + 1)
        if len(data) > MAX_PROJECT_FILE_BYTES:
            return _unreadable("is larger than 100 kB. Shorten it")
        values = yaml.load(data.decode("utf-8"), yaml.CSafeLoader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError, ValueError) as error:
        return _unreadable(f"cannot be read: {str(error).splitlines()[0]}. Correct it")
    return parse_project(values)


def parse_project(values: Any) -> LoadedRules:
    """The rules in the content of a project's file."""
    if values is None:
        return LoadedRules()
    if isinstance(values, dict) and isinstance(values.get("permissions"), dict):
        values = values["permissions"]
    if not isinstance(values, dict):
        return _unreadable("must have `ask:` and `deny:` with lists of rules. Correct it")
    rules, errors, warnings = [], [], []
    for key in values:
        if key == "allow":
            warnings.append(
                f"{PROJECT_FILE}: `allow` is ignored: a project may only add ask and deny. "
                "Write what you allow in config.yaml."
            )
        elif key not in ("ask", "deny"):
            warnings.append(f"{PROJECT_FILE}: unknown key {key!r}; write ask or deny.")
    kinds: tuple[Kind, ...] = ("deny", "ask")
    for kind in kinds:
        found, wrong = parse_rules(kind, values.get(kind), str(PROJECT_FILE), str(PROJECT_FILE))
        rules += found
        errors += wrong
    return LoadedRules(tuple(rules), tuple(errors), tuple(warnings))


def parse_rules(kind: Kind, texts: Any, where: str, file: str) -> tuple[list[Rule], list[str]]:
    """The rules in a list, and a sentence for each entry that is none, naming file and key."""
    key = kind if file == str(PROJECT_FILE) else f"plugins.permissions.{kind}"
    if texts is None:
        return [], []
    if not isinstance(texts, list):
        return [], [f"{file}: {key}: expected a list of rules, got {texts!r}."]
    rules, errors = [], []
    for number, text in enumerate(texts, 1):
        try:
            rules.append(parse_rule(kind, text, where))
        except RuleError as error:
            errors.append(f"{file}: {key}, entry {number}: {error}")
    return rules, errors


def _unreadable(reason: str) -> LoadedRules:
    return LoadedRules((), (f"{PROJECT_FILE} {reason}.",))
