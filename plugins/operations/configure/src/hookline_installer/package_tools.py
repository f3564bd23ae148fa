"""Runs pip or uv for the interpreter that runs Hookline."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hookline_hookspecs.own_programs import own_program, passed_over

from .environment import Environment
from .errors import InstallerError
from .plan import InstallPlan, UnreadablePlan, from_report, from_uv
from .spec import InstallSpec, mask_passwords

QUIET_VARIABLES = {
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_INPUT": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "NO_COLOR": "1",
}
"""Variables that keep pip, uv and git from asking questions and printing notices."""
OTHER_TARGET_VARIABLES = ("PIP_PYTHON", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT")
"""Variables that would make pip install for another interpreter or into another folder."""
BREAK_SYSTEM_VARIABLES = {"pip": "PIP_BREAK_SYSTEM_PACKAGES", "uv": "UV_BREAK_SYSTEM_PACKAGES"}
"""Variables that allow the tools to change a Python managed by the system."""
STDERR_FD = 2
"""The file descriptor of stderr."""
FALSE_VALUES = ("", "0", "false", "no", "off", "n", "f")


class PackageTool(Protocol):
    """A program that installs packages."""

    @property
    def name(self) -> str:
        """The program's name."""

    def plan(self, specs: Sequence[InstallSpec]) -> InstallPlan:
        """The changes an installation would make. Raises InstallerError with the tool's message."""

    def install(self, specs: Sequence[InstallSpec]) -> None:
        """Install. Raises InstallerError."""

    def uninstall(self, names: Sequence[str]) -> None:
        """Uninstall distributions. Raises InstallerError."""


@dataclass(frozen=True)
class PipTool:
    """pip, as a module of the interpreter, run in ``folder``."""

    folder: Path
    name: str = "pip"

    def plan(self, specs: Sequence[InstallSpec]) -> InstallPlan:
        """Run ``pip install --dry-run --report``."""
        words = ["install", "--dry-run", "--quiet", "--report", "-", *_spec_arguments(specs)]
        done = _run_quietly([*self._pip(), *words], self.folder)
        _refuse_failure(done, "pip", specs)
        return _parse(from_report, done.stdout)

    def install(self, specs: Sequence[InstallSpec]) -> None:
        """Run ``pip install``."""
        _run_visibly([*self._pip(), "install", *_spec_arguments(specs)], self.folder)

    def uninstall(self, names: Sequence[str]) -> None:
        """Run ``pip uninstall``."""
        _run_visibly([*self._pip(), "uninstall", "--yes", "--", *names], self.folder)

    @staticmethod
    def _pip() -> list[str]:
        return [sys.executable, "-P", "-m", "pip"]  # -P: never a pip.py of the current folder


@dataclass(frozen=True)
class UvTool:
    """uv, for environments without pip."""

    program: str
    folder: Path
    name: str = "uv"

    def plan(self, specs: Sequence[InstallSpec]) -> InstallPlan:
        """Run ``uv pip install --dry-run``, which prints its plan on stderr."""
        words = ["--dry-run", "--no-progress", *_pip_sources(), *_spec_arguments(specs)]
        done = _run_quietly([*self._uv("install"), *words], self.folder)
        _refuse_failure(done, "uv", specs)
        return _parse(from_uv, done.stderr)

    def install(self, specs: Sequence[InstallSpec]) -> None:
        """Run ``uv pip install``."""
        _run_visibly([*self._uv("install"), *_pip_sources(), *_spec_arguments(specs)], self.folder)

    def uninstall(self, names: Sequence[str]) -> None:
        """Run ``uv pip uninstall``."""
        _run_visibly([*self._uv("uninstall"), "--", *names], self.folder)

    def _uv(self, verb: str) -> list[str]:
        return [self.program, "pip", verb, "--python", sys.executable]


def choose_tool(environment: Environment, folder: Path) -> PackageTool:
    """pip if the interpreter has it, else uv. Raises InstallerError if there is neither."""
    uv = own_program("uv") or own_program("uv", path=str(Path(sys.executable).parent))
    uv = uv or own_program(os.environ.get("UV", ""))  # set by `uv run`
    if not environment.has_pip and uv is None:
        raise InstallerError(_no_tool(environment))
    name = "pip" if environment.has_pip else "uv"
    if environment.externally_managed and not _is_on(BREAK_SYSTEM_VARIABLES[name]):
        raise InstallerError(
            f"{sys.executable} is managed by the operating system "
            "(PEP 668), so nothing was changed. Install Hookline into an environment of its "
            f"own, with `{sys.executable} -m venv DIR`, pipx or uv tool, and install plugins there."
        )
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return PipTool(folder) if environment.has_pip or uv is None else UvTool(uv, folder)


def _no_tool(environment: Environment) -> str:
    if found := passed_over("uv"):
        return (
            f"{environment.prefix} has no pip, and {found} is not used, because tools or other "
            "users may write into its folder. Run this command from a folder that does not "
            f"contain it, or set UV={found} if you trust it."
        )
    by_maker = {
        "uv tool": "uv tool created it: put `uv` on PATH and try again, or run "
        "`uv tool install hookline --with SPEC`.",
        "pipx": "pipx created it: run `pipx inject hookline SPEC`, then "
        "`hookline plugins enable NAME`.",
    }
    other = f"Run `{sys.executable} -m ensurepip`, or put `uv` on PATH, and try again."
    hint = by_maker.get(environment.maker, other)
    return f"{environment.prefix} has no pip, and uv is not on PATH. {hint}"


def _spec_arguments(specs: Sequence[InstallSpec]) -> list[str]:
    """The arguments for the specs: editable ones as options, the others after ``--``."""
    all_specs = list(dict.fromkeys(package for spec in specs for package in (*spec.also, spec)))
    options = [word for spec in all_specs if spec.editable for word in spec.arguments]
    return [*options, "--", *(spec.text for spec in all_specs if not spec.editable)]


def _pip_sources() -> list[str]:
    """Options for uv with the meaning of pip's variables for offline use."""
    words = ["--no-index"] if _is_on("PIP_NO_INDEX") else []
    for location in os.environ.get("PIP_FIND_LINKS", "").split():
        words += ["--find-links", location]
    return words


def _is_on(variable: str) -> bool:
    return os.environ.get(variable, "").strip().lower() not in FALSE_VALUES


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in OTHER_TARGET_VARIABLES}
    return kept | QUIET_VARIABLES


def _run_quietly(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
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
    done: subprocess.CompletedProcess[str], tool: str, specs: Sequence[InstallSpec]
) -> None:
    if done.returncode:
        names = " and ".join(spec.shown for spec in specs)
        output = done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}"
        indented = "\n".join(f"  {line}" for line in mask_passwords(output).splitlines())
        raise InstallerError(
            f"{tool} cannot install {names}, so nothing was changed. Its output:\n{indented}"
        )


def _parse(reader: Callable[[str], InstallPlan], text: str) -> InstallPlan:
    try:
        return reader(text)
    except UnreadablePlan as error:
        raise InstallerError(f"{error}; nothing was changed. Update pip or uv.") from None


def _run_visibly(command: list[str], folder: Path) -> None:
    """Run a command whose output the person sees, on stderr."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=STDERR_FD,
        check=False,
    )
    if done.returncode:
        tool = "uv" if command[1:2] == ["pip"] else "pip"
        raise InstallerError(f"{tool} failed (exit code {done.returncode}); see its output above.")
