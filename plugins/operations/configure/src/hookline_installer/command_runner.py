"""What the commands do, with every way it can end; imported when one of them runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .confirmation import Person, SaidYes, say, terminal, warn
from .consent import Job
from .environment import look
from .errors import FAILED, INTERRUPTED, USAGE, Stop
from .install import install
from .lock import LockDamaged, LockFile
from .restore import missing, restore
from .spec import parse, parse_editable
from .uninstall import uninstall


def install_or_restore(
    home: Path, spec: str | None, editable: str | None, yes: bool, may_replace_core: bool
) -> None:
    """Install a spec or a folder; without either, what plugins.lock records and is missing."""
    _end_well(lambda: _install(home, spec, editable, yes, may_replace_core))


def remove(home: Path, names: list[str], yes: bool) -> None:
    """Switch plugins off and remove their dists."""
    _end_well(lambda: uninstall(Job(home, _person(yes, "hookline plugins uninstall")), names))


def _install(
    home: Path, spec: str | None, editable: str | None, yes: bool, may_replace_core: bool
) -> None:
    if spec is not None and editable is not None:
        raise Stop("give SPEC or -e DIR, not both.", USAGE)
    if spec is None and editable is None:
        _restore(home, yes, may_replace_core)
        return
    folder = Path.cwd()
    wanted = parse(spec, folder) if spec is not None else parse_editable(editable or "", folder)
    person = _person(yes, "hookline plugins install")
    install(Job(home, person, may_replace_core), wanted)


def _restore(home: Path, yes: bool, may_replace_core: bool) -> None:
    entries = LockFile.of(home).read()
    if not entries:
        say("plugins.lock records nothing: no plugin was installed by this command yet.")
        return
    environment = look()
    lacking = missing(entries, environment)
    if not lacking:
        say("Everything that plugins.lock records is installed.")
        return
    person = _person(yes, "hookline plugins install")
    restore(Job(home, person, may_replace_core), lacking, environment)


def _person(yes: bool, command: str) -> Person:
    return SaidYes() if yes else terminal(command)


def _end_well(work: Callable[[], None]) -> None:
    """Do it; whatever stops it is a sentence and an exit code."""
    try:
        work()
    except Stop as error:
        warn(str(error))
        raise SystemExit(error.code) from None
    except LockDamaged as error:
        warn(f"{error} Nothing was done.")
        raise SystemExit(USAGE) from None
    except OSError as error:
        warn(f"{error.filename or 'a file'} cannot be used: {error.strerror or error}.")
        raise SystemExit(FAILED) from None
    except KeyboardInterrupt:
        warn("interrupted; `hookline plugins install` and `doctor` tell what is missing.")
        raise SystemExit(INTERRUPTED) from None
