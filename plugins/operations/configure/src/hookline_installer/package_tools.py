"""pip and uv, run for the interpreter that runs Hookline."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from .environment import Environment
from .errors import Stop
from .plan import Plan, Unreadable, from_report, from_uv
from .spec import Spec, masked

QUIET = {
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_INPUT": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "NO_COLOR": "1",
}
"""Variables that keep the tools, and git, from asking and from talking about themselves."""
ELSEWHERE = ("PIP_PYTHON", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT")
"""Variables that would have pip install for another interpreter, or beside this one."""
BREAK = {"pip": "PIP_BREAK_SYSTEM_PACKAGES", "uv": "UV_BREAK_SYSTEM_PACKAGES"}
"""The tools' own variables for changing a Python that is managed by the system."""
STDERR = 2
"""The file descriptor."""
NO = ("", "0", "false", "no", "off", "n", "f")


class Tool(Protocol):
    """A program that installs."""

    @property
    def name(self) -> str:
        """What a person calls it."""

    def plan(self, specs: Sequence[Spec]) -> Plan:
        """What an install would change; nothing is changed. Raises Stop with the tool's words."""

    def install(self, specs: Sequence[Spec]) -> None:
        """Install. Raises Stop."""

    def uninstall(self, names: Sequence[str]) -> None:
        """Remove dists. Raises Stop."""


@dataclass(frozen=True)
class Pip:
    """pip, as a module of the interpreter. ``folder`` is where it is run."""

    folder: Path
    name: str = "pip"

    def plan(self, specs: Sequence[Spec]) -> Plan:
        """By ``pip install --dry-run --report``."""
        words = ["install", "--dry-run", "--quiet", "--report", "-", *_sorted(specs)]
        done = _asked([*self._pip(), *words], self.folder)
        _refuse_failure(done, "pip", specs)
        return _read(from_report, done.stdout)

    def install(self, specs: Sequence[Spec]) -> None:
        """By ``pip install``."""
        _change([*self._pip(), "install", *_sorted(specs)], self.folder)

    def uninstall(self, names: Sequence[str]) -> None:
        """By ``pip uninstall``."""
        _change([*self._pip(), "uninstall", "--yes", "--", *names], self.folder)

    @staticmethod
    def _pip() -> list[str]:
        return [sys.executable, "-P", "-m", "pip"]  # -P: never a pip.py of the current folder


@dataclass(frozen=True)
class Uv:
    """uv, for environments without pip."""

    program: str
    folder: Path
    name: str = "uv"

    def plan(self, specs: Sequence[Spec]) -> Plan:
        """By ``uv pip install --dry-run``, which answers on stderr."""
        words = ["--dry-run", "--no-progress", *_sources_of_pip(), *_sorted(specs)]
        done = _asked([*self._uv("install"), *words], self.folder)
        _refuse_failure(done, "uv", specs)
        return _read(from_uv, done.stderr)

    def install(self, specs: Sequence[Spec]) -> None:
        """By ``uv pip install``."""
        _change([*self._uv("install"), *_sources_of_pip(), *_sorted(specs)], self.folder)

    def uninstall(self, names: Sequence[str]) -> None:
        """By ``uv pip uninstall``."""
        _change([*self._uv("uninstall"), "--", *names], self.folder)

    def _uv(self, verb: str) -> list[str]:
        return [self.program, "pip", verb, "--python", sys.executable]


def choose(environment: Environment, folder: Path) -> Tool:
    """pip if the interpreter has it, else uv. Raises Stop with what to do."""
    uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    uv = uv or shutil.which(os.environ.get("UV", ""))  # so `uv run` names itself
    if not environment.has_pip and uv is None:
        raise Stop(_no_tool(environment))
    name = "pip" if environment.has_pip else "uv"
    if environment.externally_managed and not _is_on(BREAK[name]):
        raise Stop(
            f"{sys.executable} belongs to the operating system, which installs its packages "
            "itself (PEP 668), so nothing was done. Install Hookline into an environment of its "
            f"own, with `{sys.executable} -m venv DIR`, pipx or uv tool, and install plugins there."
        )
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Pip(folder) if environment.has_pip or uv is None else Uv(uv, folder)


def _no_tool(environment: Environment) -> str:
    ways = {
        "uv tool": "It was made by uv tool: put `uv` on PATH and try again, or run "
        "`uv tool install hookline --with SPEC`.",
        "pipx": "It was made by pipx: run `pipx inject hookline SPEC`, then "
        "`hookline plugins enable NAME`.",
    }
    other = f"Run `{sys.executable} -m ensurepip`, or put `uv` on PATH, and try again."
    where = environment.prefix
    return f"{where} has no pip and there is no uv on PATH. {ways.get(environment.maker, other)}"


def _sorted(specs: Sequence[Spec]) -> list[str]:
    """Editable ones are options; behind ``--`` nothing is one."""
    every = list(dict.fromkeys(one for spec in specs for one in (*spec.also, spec)))
    options = [word for spec in every if spec.editable for word in spec.arguments]
    return [*options, "--", *(spec.text for spec in every if not spec.editable)]


def _sources_of_pip() -> list[str]:
    """Whoever tells pip to stay off the network means uv as well."""
    words = ["--no-index"] if _is_on("PIP_NO_INDEX") else []
    for place in os.environ.get("PIP_FIND_LINKS", "").split():
        words += ["--find-links", place]
    return words


def _is_on(variable: str) -> bool:
    return os.environ.get(variable, "").strip().lower() not in NO


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ELSEWHERE}
    return kept | QUIET


def _asked(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )


def _refuse_failure(
    done: subprocess.CompletedProcess[str], tool: str, specs: Sequence[Spec]
) -> None:
    if done.returncode:
        wanted = " and ".join(spec.shown for spec in specs)
        words = done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}"
        indented = "\n".join(f"  {line}" for line in masked(words).splitlines())
        raise Stop(f"{tool} cannot install {wanted}, so nothing was done. It says:\n{indented}")


def _read(reader: Callable[[str], Plan], text: str) -> Plan:
    try:
        return reader(text)
    except Unreadable as error:
        raise Stop(f"{error}; nothing was done. Update pip or uv.") from None


def _change(command: list[str], folder: Path) -> None:
    """Run it in sight of the person; what it prints goes to stderr."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=STDERR,
        check=False,
    )
    if done.returncode:
        tool = "uv" if command[1:2] == ["pip"] else "pip"
        raise Stop(f"{tool} failed (exit code {done.returncode}); its words stand above.")
