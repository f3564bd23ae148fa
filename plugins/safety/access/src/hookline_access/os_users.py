"""The setting ``os_users``: which commands of ``hookline`` a system account may run.

It distinguishes people who come through ``sudo``: that sets ``SUDO_UID``, and an account that may
run only ``hookline`` cannot unset it. Someone who can run other programs as the owner of the home
can read its files without Hookline.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any

from .roles import RoleTable, role_table

SETTING = "os_users"


class OsUserGuard:
    """The command guard for ``access.os_users``."""

    def refusal(self, arguments: Sequence[str]) -> str | None:
        """Why the person may not run ``hookline ARGUMENTS``, or None."""
        homes = (_chosen_home(), _home_of(os.getuid()) / ".hookline")
        texts = [text for home in dict.fromkeys(homes) if SETTING in (text := _read(home))]
        if not texts:
            return None
        name, through_sudo = who_runs(os.environ, os.getuid())
        return refusal(name, arguments, texts, through_sudo=through_sudo)

    def before_runtime(self, config: Path, secrets: Container[str]) -> Mapping[str, str]:
        """Do nothing."""
        return {}


def who_runs(environment: Mapping[str, str], uid: int) -> tuple[str, bool]:
    """The account of the person, and whether they came through ``sudo``."""
    sudo_uid = environment.get("SUDO_UID", "")
    if sudo_uid.isascii() and sudo_uid.isdigit() and int(sudo_uid) != uid:
        return _name_of(int(sudo_uid)), True
    return _name_of(uid), False


def refusal(
    name: str, arguments: Sequence[str], configs: Sequence[str], *, through_sudo: bool
) -> str | None:
    """Why the account ``name`` may not run ``hookline ARGUMENTS``, or None.

    ``configs`` are the texts of all config.yaml files that apply; each must allow the command.
    Someone who came through ``sudo`` may run nothing if they are not listed or a list cannot be
    read.
    """
    known, action = role_table(), role_table().of_command(arguments)
    for text in configs:
        users = _users(text)
        if users is None and not through_sudo:
            continue  # the owner must be able to repair the file
        role = (users or {}).get(name, "" if through_sudo else "operator")
        if not known.may(role, action):
            command = f"`hookline {' '.join(arguments[:2])}`".replace(" `", "`")
            if not role:
                return f"{name} is not in access.os_users and may not run {command}."
            return (
                f"{name} is {role} in access.os_users and may not run {command}. "
                f"{_alternatives(known, role)}"
            )
    return None


def _alternatives(known: RoleTable, role: str) -> str:
    commands = known.commands_of(role)
    if not commands:
        return "Use a channel or the web page instead."
    return f"Allowed commands: {', '.join(commands)}."


def _users(text: str) -> Mapping[str, str] | None:
    """The setting, or None if it cannot be read."""
    import yaml

    try:
        plugins = (yaml.load(text, Loader=yaml.CSafeLoader) or {}).get("plugins") or {}
        section: Any = plugins.get("access")
    except (yaml.YAMLError, AttributeError, RecursionError):
        return None
    if not isinstance(section, dict) or SETTING not in section:
        return {} if isinstance(section, (dict, bool, type(None))) else None
    users = section[SETTING]
    if not isinstance(users, dict):
        return None
    return {str(user): str(role) for user, role in users.items()}


def _read(home: Path) -> str:
    file = home / "config.yaml"
    try:
        return (
            file.read_text("utf-8", "replace") if file.is_file() else ""
        )  # reading a pipe would block
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
