"""Who runs ``hookline``, and which of its commands they may run.

What can be kept apart here is who came through ``sudo``: it sets ``SUDO_UID``, and an account that
may run nothing but ``hookline`` cannot take that away. Whoever runs programs as the account that
owns the home is that account, and reads its files without Hookline.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any

from .roles import Table, table

SETTING = "os_users"


class OsUserGuard:
    """The guard of the command line for ``access.os_users``."""

    def refusal(self, arguments: Sequence[str]) -> str | None:
        """Why the person at this process may not run ``hookline ARGUMENTS``."""
        homes = (_chosen_home(), _home_of(os.getuid()) / ".hookline")
        texts = [text for home in dict.fromkeys(homes) if SETTING in (text := _read(home))]
        if not texts:
            return None
        name, through_sudo = who_runs(os.environ, os.getuid())
        return refusal(name, arguments, texts, through_sudo=through_sudo)

    def before_runtime(self, config: Path, secrets: Container[str]) -> Mapping[str, str]:
        """Change nothing."""
        return {}


def who_runs(environment: Mapping[str, str], uid: int) -> tuple[str, bool]:
    """The account of the person, and whether they came to this one through ``sudo``."""
    told = environment.get("SUDO_UID", "")
    if told.isascii() and told.isdigit() and int(told) != uid:
        return _name_of(int(told)), True
    return _name_of(uid), False


def refusal(
    name: str, arguments: Sequence[str], configs: Sequence[str], *, through_sudo: bool
) -> str | None:
    """Why the account ``name`` may not run ``hookline ARGUMENTS``, or None.

    ``configs`` are the texts of every config.yaml that has a say; each must allow it. Who came
    through ``sudo`` and is in none of their lists may run nothing, and so it is where a list cannot
    be read.
    """
    known, action = table(), table().of_command(arguments)
    for text in configs:
        found = _users(text)
        if found is None and not through_sudo:
            continue  # the account itself, which has to mend the file
        role = (found or {}).get(name, "" if through_sudo else "operator")
        if not known.may(role, action):
            told = f"`hookline {' '.join(arguments[:2])}`".replace(" `", "`")
            if not role:
                return f"{name} is not in access.os_users, so {told} is not run for them."
            return (
                f"{name} is {role} by access.os_users, who may not run {told}; {_may(known, role)}"
            )
    return None


def _may(known: Table, role: str) -> str:
    words = known.commands_of(role)
    if not words:
        return "write on a channel or on the web instead."
    return f"there are {', '.join(words)}."


def _users(text: str) -> Mapping[str, str] | None:
    """The setting, or None if it cannot be read."""
    import yaml

    try:
        plugins = (yaml.load(text, Loader=yaml.CSafeLoader) or {}).get("plugins") or {}
        found: Any = plugins.get("access")
    except (yaml.YAMLError, AttributeError, RecursionError):
        return None
    if not isinstance(found, dict) or SETTING not in found:
        return {} if isinstance(found, (dict, bool, type(None))) else None
    users = found[SETTING]
    if not isinstance(users, dict):
        return None
    return {str(user): str(role) for user, role in users.items()}


def _read(home: Path) -> str:
    file = home / "config.yaml"
    try:
        return file.read_text("utf-8", "replace") if file.is_file() else ""  # a pipe would wait
    except OSError:
        return ""


def _chosen_home() -> Path:
    return Path(os.environ.get("HOOKLINE_HOME") or "~/.hookline").expanduser().absolute()


def _name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"


def _home_of(uid: int) -> Path:
    try:
        return Path(pwd.getpwuid(uid).pw_dir)
    except KeyError:
        return Path("/nonexistent")
