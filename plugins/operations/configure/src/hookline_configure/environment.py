"""The environment that Hookline runs in, and the one command that adds a plugin to it.

Imported when a plugin that is to be switched on is not installed. Nothing is run to find out: uv
tool, pipx, uv and the operating system each leave a file by which they are known.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import sysconfig
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .clone import CORE, PREFIX, clone

OWN = "~/.hookline-env"
"""Where an environment is made if the system's Python may not be changed."""


def install_command(plugin: str) -> str:
    """The command, for a shell, that installs one of Hookline's own plugins in this environment."""
    prefix, source = Path(sys.prefix), clone()
    folders = source.missing(plugin) if source else []
    wanted = Wanted(
        [str(folder) for folder in folders] or [f"{PREFIX}{plugin}"],
        editable=bool(source and source.editable and folders),
    )
    if (prefix / "uv-receipt.toml").exists():
        return shlex.join(_uv_tool(_toml(prefix / "uv-receipt.toml"), wanted))
    if (prefix / "pipx_metadata.json").exists():
        return shlex.join(_pipx(prefix, wanted))
    made_by_uv = _is_made_by_uv(prefix)
    if source and folders and made_by_uv and prefix == source.root / ".venv":
        # --inexact: plugins of others, which the clone knows nothing of, stay.
        where = ["--project", str(source.root), "--all-packages", "--inexact"]
        return shlex.join([_uv(), "sync", *where])
    if _is_managed():
        return _beside_the_system(wanted)
    has_pip = find_spec("pip") is not None
    if (made_by_uv and (_finds_uv() or not has_pip)) or (not has_pip and _finds_uv()):
        return shlex.join([_uv(), "pip", "install", "--python", sys.executable, *wanted.options()])
    pip = shlex.join([sys.executable, "-m", "pip", "install", *wanted.options()])
    return pip if has_pip else f"{shlex.join([sys.executable, '-m', 'ensurepip'])} && {pip}"


@dataclass(frozen=True)
class Wanted:
    """What is to be installed: names of packages, or folders."""

    words: Sequence[str]
    editable: bool

    def options(self, before: str = "", editable: str = "-e") -> Iterator[str]:
        """The words for a command line, each after an option where there is one for it."""
        option = editable if self.editable else before
        return (part for word in self.words for part in (option, word) if part)


def _uv_tool(receipt: dict[str, Any], wanted: Wanted) -> list[str]:
    """uv tool makes the environment anew, so what it holds already is named again."""
    tool = receipt.get("tool", {})
    held = [one for one in tool.get("requirements", []) if isinstance(one, dict)]
    main = [_requirement(one) for one in held if one.get("name") == CORE] or [CORE]
    others = [part for one in held if one.get("name") != CORE for part in _with(one)]
    settings = tool.get("options", {})
    options = [part for name, value in settings.items() for part in _option(name, value)]
    first = ["-e"] if any(one.get("editable") for one in held if one.get("name") == CORE) else []
    added = wanted.options("--with", "--with-editable")
    return [_uv(), "tool", "install", *options, *first, *main, *others, *added]


def _requirement(one: dict[str, Any]) -> str:
    """A requirement of a receipt as it is written on a command line."""
    extras = f"[{','.join(one['extras'])}]" if one.get("extras") else ""
    if place := one.get("directory") or one.get("editable") or one.get("path"):
        return f"{place}{extras}"
    address = one.get("git") or one.get("url")
    if address:
        program = "git+" if one.get("git") else ""
        return f"{one['name']}{extras} @ {program}{address}"
    return f"{one['name']}{extras}{one.get('specifier', '')}"


def _with(one: dict[str, Any]) -> list[str]:
    return ["--with-editable" if one.get("editable") else "--with", _requirement(one)]


def _option(name: str, value: Any) -> list[str]:
    """The options of a receipt that say where packages come from."""
    if name == "find-links":
        return [part for place in value for part in ("--find-links", str(place))]
    if name == "index":
        return [
            part
            for one in value
            for part in ("--default-index" if one.get("default") else "--index", str(one["url"]))
        ]
    return ["--no-index"] if name == "no-index" and value else []


def _pipx(prefix: Path, wanted: Wanted) -> list[str]:
    options = ["--editable"] if wanted.editable else []
    main = json.loads((prefix / "pipx_metadata.json").read_text("utf-8") or "{}")
    given = (main.get("main_package") or {}).get("pip_args") or []
    if given:
        options.append(f"--pip-args={shlex.join(given)}")
    return ["pipx", "inject", *options, prefix.name, *wanted.words]


def _beside_the_system(wanted: Wanted) -> str:
    """PEP 668: the system installs its packages itself, so Hookline gets an environment."""
    source = clone()
    core = f"{source.root}[standard]" if source else f"{CORE}[standard]"
    if _finds_uv():
        added = wanted.options("--with", "--with-editable")
        return shlex.join([_uv(), "tool", "install", core, *added])
    if shutil.which("pipx"):
        install = shlex.join(["pipx", "install", core])
        return f"{install} && {shlex.join(['pipx', 'inject', CORE, *wanted.words])}"
    pip = shlex.join(["install", core, *wanted.options()])
    return f"{shlex.quote(sys.executable)} -m venv {OWN} && {OWN}/bin/pip {pip}"


def _is_managed() -> bool:
    marker = Path(sysconfig.get_path("stdlib")) / "EXTERNALLY-MANAGED"
    return sys.prefix == sys.base_prefix and marker.exists()


def _is_made_by_uv(prefix: Path) -> bool:
    try:
        lines = (prefix / "pyvenv.cfg").read_text("utf-8").splitlines()
    except OSError:
        return False
    return any(line.partition("=")[0].strip() == "uv" for line in lines)


def _finds_uv() -> bool:
    return _uv() != "uv" or shutil.which("uv") is not None


def _uv() -> str:
    """``uv``, or its path where only ``uv run``, which names itself, knows it."""
    own = os.environ.get("UV", "")
    return own if own and not shutil.which("uv") and shutil.which(own) else "uv"


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
