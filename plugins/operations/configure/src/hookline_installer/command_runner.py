"""Runs the commands and turns every failure into a message and an exit code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .confirmation import AssumeYes, Confirmer, say, terminal_confirmer, warn
from .consent import InstallJob
from .environment import inspect_environment
from .errors import FAILED, INTERRUPTED, USAGE, InstallerError
from .install import install
from .lock import LockDamaged, LockFile
from .restore import missing_entries, restore
from .spec import parse, parse_editable
from .uninstall import uninstall


def install_or_restore(
    home: Path, spec: str | None, editable: str | None, yes: bool, may_replace_core: bool
) -> None:
    """Install a spec or a folder; without either, reinstall what plugins.lock records."""
    _exit_on_error(lambda: _install(home, spec, editable, yes, may_replace_core))


def remove(home: Path, names: list[str], yes: bool) -> None:
    """Turn plugins off and uninstall their distributions."""
    _exit_on_error(
        lambda: uninstall(InstallJob(home, _confirmer(yes, "hookline plugins uninstall")), names)
    )


def _install(
    home: Path, spec: str | None, editable: str | None, yes: bool, may_replace_core: bool
) -> None:
    if spec is not None and editable is not None:
        raise InstallerError("Give SPEC or -e DIR, not both.", USAGE)
    if spec is None and editable is None:
        _restore(home, yes, may_replace_core)
        return
    folder = Path.cwd()
    parsed = parse(spec, folder) if spec is not None else parse_editable(editable or "", folder)
    confirmer = _confirmer(yes, "hookline plugins install")
    install(InstallJob(home, confirmer, may_replace_core), parsed)


def _restore(home: Path, yes: bool, may_replace_core: bool) -> None:
    entries = LockFile.in_home(home).read()
    if not entries:
        say("plugins.lock is empty: this command has not installed any plugin yet.")
        return
    environment = inspect_environment()
    missing = missing_entries(entries, environment)
    if not missing:
        say("Everything that plugins.lock records is installed.")
        return
    confirmer = _confirmer(yes, "hookline plugins install")
    restore(InstallJob(home, confirmer, may_replace_core), missing, environment)


def _confirmer(yes: bool, command: str) -> Confirmer:
    return AssumeYes() if yes else terminal_confirmer(command)


def _exit_on_error(work: Callable[[], None]) -> None:
    """Call ``work``; print a message and exit if it fails."""
    try:
        work()
    except InstallerError as error:
        warn(str(error))
        raise SystemExit(error.code) from None
    except LockDamaged as error:
        warn(f"{error} Nothing was changed.")
        raise SystemExit(USAGE) from None
    except OSError as error:
        warn(f"{error.filename or 'a file'}: {error.strerror or error}.")
        raise SystemExit(FAILED) from None
    except KeyboardInterrupt:
        warn("interrupted. `hookline plugins install` and `hookline doctor` show what is missing.")
        raise SystemExit(INTERRUPTED) from None
