"""The files of a home: ``.env`` grows, ``config.yaml`` is written once."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .choices import Choices

_NAME = re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*)", re.ASCII)
_BARE = re.compile(r"[\w./:+=@%~,-]+", re.ASCII)
_SETTING = re.compile(r"#(\w+):")
TELEGRAM_LINE = 'telegram: {token: "${TELEGRAM_BOT_TOKEN}"}'


def make_home(home: Path) -> None:
    """Make the folder, for its owner alone."""
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    home.chmod(0o700)


def names_in_env(path: Path) -> set[str]:
    """The variables that a ``.env`` gives a value to."""
    try:
        lines = path.read_text("utf-8-sig", "replace").split("\n")
    except FileNotFoundError:
        return set()
    matches = (_NAME.match(line) for line in lines)
    return {m[1] for m in matches if m and m[2].strip() not in ("", "''", '""')}


def write_env(path: Path, variables: Mapping[str, str]) -> list[str]:
    """Add ``variables`` to a ``.env``; those that it has are kept. Says what was done."""
    there = path.exists()
    text = path.read_text("utf-8") if there else _template("env.template")
    new = {name: value for name, value in variables.items() if name not in names_in_env(path)}
    added = "".join(f"{name}={_quoted(value)}\n" for name, value in new.items())
    if added or not there:
        _replace(path, text + ("" if text.endswith("\n") or not text else "\n") + added)
    path.chmod(0o600)
    if not there:
        return [f"{path}: written{_names(new)}"]
    return [f"{path}: {'added' + _names(new) if new else 'there already, and kept'}"]


def _names(variables: Mapping[str, str]) -> str:
    return f" with {', '.join(variables)}" if variables else ""


def write_config(path: Path, choices: Choices) -> list[str]:
    """Write ``config.yaml`` unless there is one. Says what was done, and what is to be done."""
    if path.exists():
        told = [f"{path}: there already, and left as it is"]
        if choices.model:
            told.append(f"  to use the new model: hookline config set model {choices.model}")
        if choices.provider:
            told.append(f"  and under `providers:` there: {_provider_line(choices)}")
        if choices.telegram:
            told.append(f"  for Telegram, under `plugins:` there: {TELEGRAM_LINE}")
        return told
    active = _active(choices)
    lines = []
    for line in _template("config.template.yaml").split("\n"):
        setting = _SETTING.match(line)
        # The commented default makes room for what was chosen.
        lines.append(active.get(setting[1], line) if setting else line)
    _replace(path, "\n".join(lines))
    return [f"{path}: written"]


def _active(choices: Choices) -> dict[str, str]:
    found = {}
    if choices.model:
        # JSON is YAML, and quotes what YAML would take for something else.
        found["model"] = f"model: {json.dumps(choices.model)}"
    if choices.provider:
        found["providers"] = f"providers:\n  {_provider_line(choices)}"
    if choices.telegram:
        found["plugins"] = f"plugins:\n  {TELEGRAM_LINE}"
    return found


def _provider_line(choices: Choices) -> str:
    assert choices.model is not None
    return f"{choices.model.partition('/')[0]}: {json.dumps(choices.provider)}"


def _template(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")


def _quoted(value: str) -> str:
    # Between single quotes nothing is special; the dialogue takes no value that holds one.
    return value if _BARE.fullmatch(value) else f"'{value}'"


def _replace(path: Path, text: str) -> None:
    """Write the whole file or nothing, readable by its owner alone from the first byte on."""
    path = path.resolve()
    fresh = path.with_name(f"{path.name}.{os.getpid()}.new")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
