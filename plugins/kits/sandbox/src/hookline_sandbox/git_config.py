"""Compares a repository's ``config`` by key, and keeps only harmless changes (git-config(1)).

Keys that run programs or say where a push goes (``core.fsmonitor``, ``alias.*``, ``remote.*.url``,
``include.path`` and all that are not listed here) return to their earlier values.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from hookline_hookspecs.own_programs import own_program

_GIT_TIMEOUT = 5
"""Seconds."""
_HARMLESS = re.compile(
    r"user\.(?:name|email)|author\.\w+|committer\.\w+|branch\..*\.(?:merge|rebase|description)"
    r"|pull\.(?:rebase|ff)|push\.(?:default|autosetupremote|followtags)|fetch\.prune|merge\.ff"
    r"|rebase\.(?:autostash|autosquash|updaterefs)|init\.defaultbranch|color\..*|advice\..*"
    r"|core\.(?:autocrlf|eol|safecrlf|quotepath|ignorecase|filemode|bare|symlinks|abbrev"
    r"|repositoryformatversion|logallrefupdates|precomposeunicode)|extensions\.objectformat"
    r"|rerere\..*|gc\.auto|log\.date|diff\.(?:algorithm|renames)|submodule\..*\.active|submodule\.active",
    re.IGNORECASE,
)
_BRANCH_REMOTE = re.compile(r"branch\..*\.(?:remote|pushremote)", re.IGNORECASE)
_REMOTE = re.compile(r"remote\.(.*)\.(?:fetch|tagopt|prune|url)", re.IGNORECASE)
_CLONED = re.compile(r"remote\..*\.url", re.IGNORECASE)
_PLAIN_URL = re.compile(r"(?!-)(?!.*::)[^\0]+")
_WORKTREE = "core.worktree"

Settings = dict[str, list[str]]
"""The values of each key, as git lists them."""


class Unreadable(Exception):
    """git cannot parse the text."""


def merged(before: bytes | None, after: bytes) -> tuple[bytes, tuple[str, ...]]:
    """Return the text with only harmless changes, and the keys that were put back.

    before: None for a new repository, where a clone's ``remote.*.url`` is harmless too.
    If nothing has to be put back, the text is ``after``. One that git cannot read is not kept.
    """
    try:
        old, new = _settings(before or b""), _settings(after)
    except Unreadable:
        return before or b"", ("config",)
    changed = [key for key in {**old, **new} if old.get(key) != new.get(key)]
    known = (_REMOTE.fullmatch(key) for key in (new if before is None else old))
    remotes = {remote[1] for remote in known if remote}
    kept = [
        key
        for key in changed
        if _is_harmless(key, new.get(key, []), remotes, is_new=before is None)
    ]
    undone = tuple(sorted(set(changed) - set(kept)))
    if not undone:
        return after, ()
    return _written(before or b"", {key: new.get(key, []) for key in kept}), undone


def _is_harmless(key: str, values: Sequence[str], remotes: set[str], *, is_new: bool) -> bool:
    if _BRANCH_REMOTE.fullmatch(key):  # may also be a URL
        return all(value == "." or value in remotes for value in values)
    if is_new and _CLONED.fullmatch(key):
        return all(_PLAIN_URL.fullmatch(value) for value in values)
    if (remote := _REMOTE.fullmatch(key)) is not None:
        return remote[1] in remotes and not _CLONED.fullmatch(key)
    if is_new and key == _WORKTREE:  # a submodule's
        return not any(os.path.isabs(value) for value in values)  # noqa: PTH117
    return _HARMLESS.fullmatch(key) is not None


def _settings(text: bytes) -> Settings:
    listed = _git("config", "--file", "-", "--no-includes", "--list", "-z", stdin=text)
    found: Settings = {}
    for entry in listed.split("\0"):
        key, _, value = entry.partition("\n")
        if key:
            found.setdefault(key, []).append(value)
    return found


def _written(text: bytes, settings: Mapping[str, Sequence[str]]) -> bytes:
    """Return ``text`` with these settings."""
    with tempfile.TemporaryDirectory(prefix="hookline-git-") as folder:
        file = Path(folder, "config")
        file.write_bytes(text)
        for key, values in settings.items():
            with suppress(Unreadable):  # it was not set
                _git("config", "--file", str(file), "--unset-all", key)
            for value in values:
                _git("config", "--file", str(file), "--add", key, value)
        return file.read_bytes()


def _git(*arguments: str, stdin: bytes = b"") -> str:
    """Return what git prints. Raises Unreadable if it fails or is missing."""
    git = own_program("git")
    if git is None:
        raise Unreadable
    try:
        done = subprocess.run(
            [git, *arguments],
            input=stdin,
            capture_output=True,
            timeout=_GIT_TIMEOUT,
            check=False,
            cwd="/",
        )
    except (OSError, subprocess.TimeoutExpired):
        raise Unreadable from None
    if done.returncode:
        raise Unreadable
    return os.fsdecode(done.stdout)
