"""The folders of profiles: ``profiles/NAME`` in the home, and ``active-profile`` beside them."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from hookline_hookspecs import HooklineError
from hookline_hookspecs.process_lock import is_gateway_running

DEFAULT = "default"
"""The name of the profile that is the home itself."""
ACTIVE, DELETED = "active-profile", ".deleted"
CLONED = ("config.yaml", ".env", "SOUL.md", "skills", "context")
"""What ``--clone`` copies: settings, keys and skills, but no conversations or memory."""
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")


class ProfileError(HooklineError):
    """A message for the person about a profile: what is wrong, and what to do."""


class ProfileHomes:
    """The profiles of a home.

    Args:
        home: the home of this process, which may be a profile's.
    """

    def __init__(self, home: Path) -> None:
        inside = home.parent.name == "profiles" and home.parent.parent.is_dir()
        self.base = home.parent.parent if inside else home

    def names(self) -> list[str]:
        """The profiles, ``default`` first."""
        found = [path.name for path in (self.base / "profiles").glob("*") if _is_name(path.name)]
        return [DEFAULT, *sorted(name for name in found if self.folder(name).is_dir())]

    def folder(self, name: str) -> Path:
        """The home of a profile, whether it exists or not."""
        return self.base if name == DEFAULT else self.base / "profiles" / name

    def existing(self, name: str) -> Path:
        """The home of an existing profile. Raises :class:`ProfileError` if there is none."""
        if name not in self.names():
            raise ProfileError(f"unknown profile {name!r}; there are {', '.join(self.names())}")
        return self.folder(name)

    @property
    def active(self) -> str:
        """The profile that commands use without ``-p``."""
        try:
            return (self.base / ACTIVE).read_text("utf-8").strip() or DEFAULT
        except OSError:
            return DEFAULT

    def use(self, name: str) -> str:
        """Make a profile active; return the previous one. Raises :class:`ProfileError`."""
        self.existing(name)
        before = self.active
        self.base.mkdir(mode=0o700, parents=True, exist_ok=True)
        partial = self.base / f".{ACTIVE}.{secrets.token_hex(4)}"
        partial.touch(0o600)
        partial.write_text(f"{name}\n", "utf-8")
        partial.replace(self.base / ACTIVE)
        return before

    def create(self, name: str, source: Path | None) -> Path:
        """Create a profile, with the settings of the home ``source``. Raises :class:`ProfileError`.

        It is created under a temporary name and renamed when complete.
        """
        if not _is_name(name) or name == DEFAULT:
            raise ProfileError(
                f"{name!r} is not a valid profile name; use up to 32 lower-case letters, digits, - "
                f"and _, but not {DEFAULT}"
            )
        folder = self.folder(name)
        if folder.exists():
            raise ProfileError(f"the profile {name} already exists: {folder}")
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        partial = folder.parent / f".{name}.{secrets.token_hex(4)}"
        partial.mkdir(mode=0o700)
        try:
            for entry in CLONED if source is not None else ():
                assert source is not None
                _copy(source / entry, partial / entry)
            partial.rename(folder)
        except OSError as error:
            raise ProfileError(f"cannot create the profile {name}: {error}") from error
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        return folder

    def delete(self, name: str) -> Path:
        """Move a profile to ``.deleted``; return its new path. Raises :class:`ProfileError`."""
        folder = self.existing(name)
        if name == DEFAULT:
            raise ProfileError(f"{DEFAULT} is the home itself and cannot be deleted")
        if name == self.active:
            raise ProfileError(
                f"{name} is the active profile; run `hookline profile use default` first"
            )
        if is_gateway_running(folder):
            raise ProfileError(f"a gateway is running in the profile {name}; stop it first")
        deleted = self.base / "profiles" / DELETED
        deleted.mkdir(mode=0o700, exist_ok=True)
        target = deleted / f"{name}-{datetime.now(UTC):%Y%m%dT%H%M%S.%f}"
        folder.rename(target)
        return target


def environment_for(home: Path, name: str, env: Mapping[str, str]) -> dict[str, str]:
    """The environment in which ``hookline`` works in a profile."""
    return {**env, "HOOKLINE_HOME": str(home), "HOOKLINE_PROFILE": name}


def _is_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def _copy(source: Path, target: Path) -> None:
    """Copy a file or a folder, if it is there; links are left out."""
    if source.is_symlink() or not source.exists():
        return
    if source.is_dir():
        target.mkdir(mode=0o700)
        for entry in os.scandir(source):
            _copy(Path(entry.path), target / entry.name)
    elif source.is_file():
        shutil.copy2(source, target)
