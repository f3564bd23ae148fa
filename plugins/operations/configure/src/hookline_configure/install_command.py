"""Finds the one command that installs a plugin in the environment that Hookline runs in.

Imported when a plugin that should be turned on is not installed. Nothing is run to find out: uv
tool, pipx, uv and the operating system each leave a file that identifies them.
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

from .source_clone import CORE, PREFIX, find_clone

VENV_FOLDER = "~/.hookline-env"
"""Where a virtual environment is created if the system's Python must not be changed."""


def install_command(plugin: str) -> str:
    """The command, for a shell, that installs one of Hookline's own plugins in this environment."""
    prefix = Path(sys.prefix)
    source = find_clone()
    folders = source.missing(plugin) if source else []
    targets = InstallTargets(
        [str(folder) for folder in folders] or [f"{PREFIX}{plugin}"],
        editable=bool(source and source.editable and folders),
    )
    if (prefix / "uv-receipt.toml").exists():
        return shlex.join(_uv_tool(_read_toml(prefix / "uv-receipt.toml"), targets))
    if (prefix / "pipx_metadata.json").exists():
        return shlex.join(_pipx(prefix, targets))
    made_by_uv = _is_made_by_uv(prefix)
    if source and folders and made_by_uv and prefix == source.root / ".venv":
        # --inexact keeps third-party plugins, which are not in the clone.
        where = ["--project", str(source.root), "--all-packages", "--inexact"]
        return shlex.join([_uv(), "sync", *where])
    if _is_managed():
        return _separate_environment(targets)
    has_pip = find_spec("pip") is not None
    if (made_by_uv and (_has_uv() or not has_pip)) or (not has_pip and _has_uv()):
        return shlex.join([_uv(), "pip", "install", "--python", sys.executable, *targets.options()])
    pip = shlex.join([sys.executable, "-m", "pip", "install", *targets.options()])
    return pip if has_pip else f"{shlex.join([sys.executable, '-m', 'ensurepip'])} && {pip}"


@dataclass(frozen=True)
class InstallTargets:
    """The packages to install, by name or by folder."""

    packages: Sequence[str]
    editable: bool

    def options(self, before: str = "", editable: str = "-e") -> Iterator[str]:
        """The arguments for a command line: each target, after its option if there is one."""
        option = editable if self.editable else before
        return (part for package in self.packages for part in (option, package) if part)


def _uv_tool(receipt: dict[str, Any], targets: InstallTargets) -> list[str]:
    """The command for uv tool, which recreates the environment: it repeats what is installed."""
    tool = receipt.get("tool", {})
    installed = [row for row in tool.get("requirements", []) if isinstance(row, dict)]
    main = [_requirement(row) for row in installed if row.get("name") == CORE] or [CORE]
    others = [part for row in installed if row.get("name") != CORE for part in _with(row)]
    settings = tool.get("options", {})
    options = [part for name, value in settings.items() for part in _option(name, value)]
    first = (
        ["-e"] if any(row.get("editable") for row in installed if row.get("name") == CORE) else []
    )
    added = targets.options("--with", "--with-editable")
    return [_uv(), "tool", "install", *options, *first, *main, *others, *added]


def _requirement(one: dict[str, Any]) -> str:
    """A requirement of uv's receipt, as an argument of a command line."""
    extras = f"[{','.join(one['extras'])}]" if one.get("extras") else ""
    if path := one.get("directory") or one.get("editable") or one.get("path"):
        return f"{path}{extras}"
    address = one.get("git") or one.get("url")
    if address:
        prefix = "git+" if one.get("git") else ""
        return f"{one['name']}{extras} @ {prefix}{address}"
    return f"{one['name']}{extras}{one.get('specifier', '')}"


def _with(one: dict[str, Any]) -> list[str]:
    return ["--with-editable" if one.get("editable") else "--with", _requirement(one)]


def _option(name: str, value: Any) -> list[str]:
    """The options for a package source that uv's receipt records."""
    if name == "find-links":
        return [part for location in value for part in ("--find-links", str(location))]
    if name == "index":
        return [
            part
            for index in value
            for part in (
                "--default-index" if index.get("default") else "--index",
                str(index["url"]),
            )
        ]
    return ["--no-index"] if name == "no-index" and value else []


def _pipx(prefix: Path, targets: InstallTargets) -> list[str]:
    options = ["--editable"] if targets.editable else []
    main = json.loads((prefix / "pipx_metadata.json").read_text("utf-8") or "{}")
    pip_args = (main.get("main_package") or {}).get("pip_args") or []
    if pip_args:
        options.append(f"--pip-args={shlex.join(pip_args)}")
    return ["pipx", "inject", *options, prefix.name, *targets.packages]


def _separate_environment(targets: InstallTargets) -> str:
    """For a Python managed by the system (PEP 668): install Hookline elsewhere, with the plugin."""
    source = find_clone()
    core = f"{source.root}[standard]" if source else f"{CORE}[standard]"
    if _has_uv():
        added = targets.options("--with", "--with-editable")
        return shlex.join([_uv(), "tool", "install", core, *added])
    if shutil.which("pipx"):
        install = shlex.join(["pipx", "install", core])
        return f"{install} && {shlex.join(['pipx', 'inject', CORE, *targets.packages])}"
    pip = shlex.join(["install", core, *targets.options()])
    return f"{shlex.quote(sys.executable)} -m venv {VENV_FOLDER} && {VENV_FOLDER}/bin/pip {pip}"


def _is_managed() -> bool:
    marker = Path(sysconfig.get_path("stdlib")) / "EXTERNALLY-MANAGED"
    return sys.prefix == sys.base_prefix and marker.exists()


def _is_made_by_uv(prefix: Path) -> bool:
    try:
        lines = (prefix / "pyvenv.cfg").read_text("utf-8").splitlines()
    except OSError:
        return False
    return any(line.partition("=")[0].strip() == "uv" for line in lines)


def _has_uv() -> bool:
    return _uv() != "uv" or shutil.which("uv") is not None


def _uv() -> str:
    """``uv``, or its path from the variable ``UV``, which ``uv run`` sets, if it is not on PATH."""
    path = os.environ.get("UV", "")
    return path if path and not shutil.which("uv") and shutil.which(path) else "uv"


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
