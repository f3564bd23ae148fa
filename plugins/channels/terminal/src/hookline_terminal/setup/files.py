"""The files of a home: ``.env`` and ``config.yaml``, each written whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from .command import hookline, trial_home
from .present import Present

_NAME = re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w*)\s*=", re.ASCII)
_BARE = re.compile(r"[\w./:+=@%~,-]+", re.ASCII)
_SETTING = re.compile(r"#(\w+):")
_SECONDS = 60
_OVERLAID = re.compile(
    r"HOOKLINE_(AUXILIARY_MODEL|FALLBACK_MODELS|MAX_ITERATIONS|MODEL|NETWORK|OPERATOR_MESSAGE|PATHS"
    r"|PLUGINS|PROVIDERS|SESSION|STORE|TRACE|WORKSPACE)(__|$)"
)
"""Variables that lie over config.yaml; what is wrong with them is no fault of its text."""
OLD = "config.yaml.old"
"""The name under which a config.yaml is kept that cannot be used."""


class NotWritable(Exception):
    """The config that was asked for cannot be used; the text says why."""


def make_home(home: Path) -> None:
    """Make the folder, for its owner alone."""
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    home.chmod(0o700)


def config_with(present: Present, settings: Mapping[str, Any]) -> str:
    """The text of config.yaml with ``settings`` by dotted key; comments and order are kept.

    ``hookline config`` makes and checks it in a home of its own, with the variables of ``present``.

    Raises:
        NotWritable: Hookline would not start with it.
    """
    if present.text is not None and not settings:
        return present.text
    text = _fresh(settings) if present.text is None else present.text
    changes = {} if present.text is None else settings
    with trial_home(text) as home:
        for key, value in changes.items():
            _config(home, present, "set", key, json.dumps(value, ensure_ascii=False))
        if present.text is None and settings:
            _config(home, present, "check")
        return (home / "config.yaml").read_text("utf-8")


def _config(home: Path, present: Present, *words: str) -> None:
    env = {name: value for name, value in present.env.items() if not _OVERLAID.match(name)}
    try:
        done = hookline(home, "config", *words, seconds=_SECONDS, env=env)
    except subprocess.TimeoutExpired:
        raise NotWritable(f"`hookline config` did not end within {_SECONDS} s.") from None
    if done.returncode:
        told = done.stderr.strip() or done.stdout.strip()
        raise NotWritable(told.replace(f"{home}{os.sep}", ""))


def _fresh(settings: Mapping[str, Any]) -> str:
    """The template; a commented default makes room for what was chosen."""
    lines = []
    for line in template("config.template.yaml").split("\n"):
        found = _SETTING.match(line)
        lines.append((found and "\n".join(_active(found[1], settings))) or line)
    return "\n".join(lines)


def _active(name: str, settings: Mapping[str, Any]) -> Iterator[str]:
    """The lines of a setting and of what is below it. JSON is YAML, and quotes what must be."""
    if name in settings:
        yield f"{name}: {json.dumps(settings[name], ensure_ascii=False)}"
    inner = {key.partition(".")[2]: v for key, v in settings.items() if key.startswith(f"{name}.")}
    if inner:
        yield f"{name}:"
        yield from (f"  {key}: {json.dumps(v, ensure_ascii=False)}" for key, v in inner.items())


def env_with(text: str, variables: Mapping[str, str]) -> str:
    """The text of a ``.env`` with ``variables``: a line that is there is replaced, the last one
    where there are several, and others are added at the end."""
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
    """A file that a fresh home gets."""
    return files(__package__).joinpath(name).read_text("utf-8")


def _quoted(value: str) -> str:
    # Between single quotes nothing is special; the dialogue takes no value that holds one.
    return value if _BARE.fullmatch(value) else f"'{value}'"


def refuse_no_file(path: Path) -> None:
    """Raise ``OSError`` for what is there and no file, nor a link to one: reading a pipe may never
    end, and what stands at the end of a link must not be replaced unseen."""
    if os.path.lexists(path) and not path.is_file():
        told = "this is no text file, nor a link to one; move it away"
        raise OSError(errno.EINVAL, told, str(path))


def read(path: Path) -> str | None:
    """The text of a file, None if it is not there. Raises ``OSError``."""
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return None


def replace(path: Path, text: str) -> None:
    """Write the whole file or nothing, readable by its owner alone from the first byte on."""
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
