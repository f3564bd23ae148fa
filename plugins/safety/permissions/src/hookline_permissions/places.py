"""What kind of path a word of a command names, without looking at the disk."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Protocol

from .commands import UNKNOWN

SYSTEM_ROOTS = (
    *("/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/opt", "/proc", "/root"),
    *("/run", "/sbin", "/srv", "/sys", "/usr", "/usr/bin", "/usr/lib", "/usr/local", "/var"),
    *("/Users", "/System", "/Library", "/Applications"),
)
"""Folders that hold a system, or the homes of people."""
HARMLESS_DEVICES = frozenset(
    f"/dev/{name}" for name in ("null", "stdin", "stdout", "stderr", "zero", "tty", "fd", "full")
) | {"/dev/random", "/dev/urandom"}
SHARED_MEMORY = "/dev/shm/"  # noqa: S108 - classified, not used
TEMPORARY = ("/tmp/", "/var/tmp/", SHARED_MEMORY)  # noqa: S108
NETWORK_DEVICES = ("/dev/tcp/", "/dev/udp/")
READABLE_FILES = frozenset(
    {"/etc/hosts", "/etc/hostname", "/etc/os-release", "/etc/resolv.conf", "/etc/services"}
    | {"/etc/debian_version", "/etc/timezone", "/etc/localtime", "/etc/protocols", "/etc/shells"}
    | {"/proc/cpuinfo", "/proc/meminfo", "/proc/version", "/proc/loadavg", "/proc/uptime"}
)
READABLE_FOLDERS = ("/usr/include", "/usr/share", "/usr/lib", "/usr/local/include", "/usr/src")
"""Parts of a system that hold no keys and nothing of a person, for rules that only read."""
_EVERYTHING = re.compile(r"(?:/(?:\.?\*+|\.\[!?\.\]\*|\.\?\?\*))+$")
"""A last ``/*`` names all of a folder."""


_GLOB = re.compile(r"[*?\[]")


class WriteRisk(Protocol):
    """Says why a person should approve writing to a path (``Paths.caution``)."""

    def __call__(self, path: str) -> str | None:
        """The reason, or None."""


@dataclass(frozen=True)
class Places:
    """Classifies paths for one workspace; relative ones start in ``folder``.

    ``folder`` is None if only the shell knows where it is.
    """

    workspace: str
    home: str
    caution: WriteRisk
    folder: str | None = None

    def absolute(self, path: str) -> str | None:
        """The absolute path that a word names, links not followed; None if it is not known."""
        joined = self.joined(path)
        return None if joined is None else os.path.normpath(joined).replace("//", "/")

    def joined(self, path: str) -> str | None:
        """The absolute path as written: ``..`` after a link leads to another place than without.

        None if it is not known: only the shell knows a part of it, or the home of ``~NAME``.
        """
        if path == "~" or path.startswith("~/"):
            path = self.home + path[1:]
        elif path.startswith("~"):
            return None
        if UNKNOWN in path or (self.folder is None and not path.startswith("/")):
            return None
        return path if path.startswith("/") else f"{self.folder}/{path}"

    def kinds(self, word: str) -> frozenset[str]:
        """The kinds of path that a word is, as :data:`.command_patterns.CLASSES` names them."""
        known = word.split(UNKNOWN, 1)[0]
        if UNKNOWN in word and ("/" not in known.lstrip("/~") or ".." in word):
            return frozenset({"unknown"})
        path = self.absolute(known if UNKNOWN in word else word)
        if path is None and word.startswith("~"):  # the home of an account, or what is in it
            return frozenset({"outside"} if "/" in word.rstrip("/") else {"root"})
        if path is None:  # a name in a folder that is not known, or all of that folder
            return frozenset({"unknown"} if word.startswith((".", "*")) else ())
        if path.startswith("/dev/") and not path.startswith(SHARED_MEMORY):
            harmless = path in HARMLESS_DEVICES or path.startswith(("/dev/fd/", *NETWORK_DEVICES))
            return frozenset({"inside" if harmless else "device"})
        if UNKNOWN in word:
            return self._around(f"{path}/?")
        whole = _EVERYTHING.sub("", path) or "/"
        return self._whole(whole) | self._around(path)

    def _whole(self, path: str) -> frozenset[str]:
        """``root`` and ``workspace``, for a path that is or holds all of one."""
        found = set()
        is_system = any(fnmatchcase(root, path) for root in SYSTEM_ROOTS)
        above = _holds(path, self.home) or (_holds(path, self.workspace) and path != self.workspace)
        if is_system or above:
            found.add("root")
        if path == self.workspace:
            found.add("workspace")
        if path == self.home:
            found.add("home")
        return frozenset(found)

    def _around(self, path: str) -> frozenset[str]:
        """Where a path stands: inside, tmp or outside, and whether git or programs follow it."""
        below = _holds(self.workspace, path)
        found = set()
        if _GLOB.search(path):
            found.add("glob")
        if below and any(map(_names_git, path[len(self.workspace) :].split("/"))):
            found.add("git")
        if below and path != self.workspace and self.caution(path):
            found.add("control")
        if below:
            found.add("inside")
        else:
            found.add("tmp" if path.startswith(TEMPORARY) else "outside")
        return frozenset(found)

    def after_cd(self, target: str) -> str | None:
        """The folder after ``cd TARGET``; None if only the shell knows it."""
        return None if target == "-" else self.absolute(target)


def is_readable_system(path: str) -> bool:
    """True for an absolute path in a part of the system that everybody may read."""
    return path in READABLE_FILES or any(_holds(folder, path) for folder in READABLE_FOLDERS)


def _names_git(part: str) -> bool:
    """True for ``.git``, and a pattern of the shell that matches it."""
    return part == ".git" or (
        part.startswith(".") and bool(_GLOB.search(part)) and fnmatchcase(".git", part)
    )


def _holds(folder: str, path: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def home_folder() -> str:
    """The home of the account that runs Hookline."""
    return str(Path.home())
