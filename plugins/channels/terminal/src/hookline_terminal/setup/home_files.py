"""Reads and writes ``.env`` and ``config.yaml`` of a home; each is replaced atomically."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from .current_setup import CurrentSetup
from .hookline_process import run_hookline, trial_home

_NAME = re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w*)\s*=", re.ASCII)
_UNQUOTED = re.compile(r"[\w./:+=@%~,-]+", re.ASCII)
_CONFIG_TIMEOUT = 60
"""Seconds for ``hookline config``."""
_OVERRIDES = re.compile(
    r"HOOKLINE_(AUXILIARY_MODEL|FALLBACK_MODELS|MAX_ITERATIONS|MODEL|NETWORK|OPERATOR_MESSAGE|PATHS"
    r"|PLUGINS|PROVIDERS|SESSION|STORE|TRACE|WORKSPACE)(__|$)"
)
"""Variables that override config.yaml. They are left out, so that only its text is checked."""
OLD = "config.yaml.old"
"""The name that a broken config.yaml is kept under."""


class UnusableConfig(Exception):
    """Hookline would not start with the new config; the text says why."""


def make_home(home: Path) -> None:
    """Make the folder with mode 0700."""
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    home.chmod(0o700)


def config_with(current: CurrentSetup, settings: Mapping[str, Any]) -> str:
    """Return the text of config.yaml with ``settings`` by dotted key; comments and order stay.

    ``hookline config`` makes and checks it in a temporary home with the variables of ``current``.

    Raises:
        UnusableConfig: Hookline would not start with it.
    """
    if current.text is not None and not settings:
        return current.text
    text = template("config.template.yaml") if current.text is None else current.text
    with trial_home(text) as home:
        for key, value in settings.items():
            _config(home, current, "set", key, json.dumps(value, ensure_ascii=False))
        return (home / "config.yaml").read_text("utf-8")


def _config(home: Path, current: CurrentSetup, *words: str) -> None:
    env = {name: value for name, value in current.env.items() if not _OVERRIDES.match(name)}
    try:
        done = run_hookline(home, "config", *words, timeout=_CONFIG_TIMEOUT, env=env)
    except subprocess.TimeoutExpired:
        raise UnusableConfig(f"`hookline config` did not end within {_CONFIG_TIMEOUT} s.") from None
    if done.returncode:
        reason = done.stderr.strip() or done.stdout.strip()
        raise UnusableConfig(reason.replace(f"{home}{os.sep}", ""))


def env_with(text: str, variables: Mapping[str, str]) -> str:
    """Return the text of a ``.env`` with ``variables``.

    An existing line is replaced, the last if there are several; others are added at the end.
    """
    lines = text.split("\n")
    added = []
    for name, value in variables.items():
        new = f"{name}={_quoted(value)}"
        at = [n for n, line in enumerate(lines) if (m := _NAME.match(line)) and m[1] == name]
        if at:
            lines[at[-1]] = new
        else:
            added.append(f"{new}\n")
    text = "\n".join(lines)
    return text + ("\n" if added and text and not text.endswith("\n") else "") + "".join(added)


def template(name: str) -> str:
    """Return the text of a file for a new home."""
    return files(__package__).joinpath(name).read_text("utf-8")


def _quoted(value: str) -> str:
    # Nothing is special within single quotes; the dialogue accepts no value that contains one.
    return value if _UNQUOTED.fullmatch(value) else f"'{value}'"


def check_is_file(path: Path) -> None:
    """Raise ``OSError`` if the path exists and is neither a file nor a link to one.

    Reading a pipe may never end, and the target of a link must not be replaced unseen.
    """
    if os.path.lexists(path) and not path.is_file():
        reason = "not a file or a link to one; move it away"
        raise OSError(errno.EINVAL, reason, str(path))


def read(path: Path) -> str | None:
    """Return the text of a file; None if it does not exist. Raises ``OSError``."""
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return None


def replace(path: Path, text: str) -> None:
    """Replace the file atomically; its mode is 0600 from the first byte on."""
    path = path.resolve()
    fresh = path.with_name(f"{path.name}.{os.getpid()}.new")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8", "surrogateescape"))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
