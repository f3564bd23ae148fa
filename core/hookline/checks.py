"""Core's own checks for ``hookline doctor``."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from hookline_hookspecs import Check, CheckResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from .runtime import Runtime

LOW_DISK = 200_000_000
"""Bytes of free disk under which the doctor complains."""


def core_checks(runtime: Runtime) -> list[tuple[str, Check]]:
    """The checks, each under the name ``core``."""
    checks: dict[str, Callable[[], CheckResult]] = {
        "config": lambda: _config(runtime),
        "model": lambda: _model(runtime),
        "secrets file": lambda: _env_file(runtime),
        "home": lambda: _home(runtime),
        "plugins": lambda: _plugins(runtime),
        "workspace": lambda: _workspace(runtime),
        "disk": lambda: _disk(runtime),
    }
    return [("core", Check(name, run)) for name, run in checks.items()]


def _config(runtime: Runtime) -> CheckResult:
    loaded = runtime.loaded
    problems = [*loaded.warnings, *loaded.provider_errors.values()]
    if problems:
        return CheckResult(False, " ".join(problems), f"edit {loaded.path}")
    if not loaded.path.exists():
        return CheckResult(True, "no config.yaml; defaults apply", "hookline init", hint=True)
    return CheckResult(True, str(loaded.path))


def _model(runtime: Runtime) -> CheckResult:
    try:
        model = runtime.default_model()
    except Exception as error:
        return CheckResult(False, str(error), "hookline init", hint=True)
    try:
        runtime.providers.check(model)
    except Exception as error:
        return CheckResult(False, str(error), "set `model:` to one that is installed")
    return CheckResult(True, model)


def _env_file(runtime: Runtime) -> CheckResult:
    path = runtime.home / ".env"
    if not path.exists():
        return CheckResult(True, "no .env; secrets come from the environment", hint=True)
    mode = path.stat().st_mode & 0o777
    if mode & 0o077:
        return CheckResult(
            False, f"{path} can be read by others (mode {mode:o})", f"chmod 600 {path}"
        )
    return CheckResult(True, str(path))


def _home(runtime: Runtime) -> CheckResult:
    mode = runtime.home.stat().st_mode & 0o777
    if mode & 0o077:
        detail = f"{runtime.home} can be read by others (mode {mode:o})"
        return CheckResult(False, detail, f"chmod 700 {runtime.home}")
    return CheckResult(True, str(runtime.home))


def _plugins(runtime: Runtime) -> CheckResult:
    bad = [
        f"{name}: {loading.reason}"
        for name, loading in runtime.plugins.loadings.items()
        if loading.state in ("failed", "missing")
    ]
    warned = [w for loading in runtime.plugins.loadings.values() for w in loading.warnings]
    if bad or warned:
        fix = "mend it in config.yaml, or switch it off: hookline plugins disable NAME"
        return CheckResult(False, "; ".join([*bad, *warned]), fix)
    count = sum(loading.state == "on" for loading in runtime.plugins.loadings.values())
    return CheckResult(True, f"{count} on")


def _workspace(runtime: Runtime) -> CheckResult:
    workspace = Path(runtime.config.workspace).expanduser().resolve()
    if not workspace.is_dir():
        return CheckResult(False, f"{workspace} is no folder", "set `workspace:` in config.yaml")
    return CheckResult(True, str(workspace))


def _disk(runtime: Runtime) -> CheckResult:
    free = shutil.disk_usage(runtime.home).free
    if free < LOW_DISK:
        detail = f"{free // 1_000_000} MB are free in {runtime.home}"
        return CheckResult(False, detail, "make room, or move it: HOOKLINE_HOME")
    return CheckResult(True, f"{free // 1_000_000} MB free")
