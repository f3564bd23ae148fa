"""``hookline chat --worktree NAME``: a git worktree of its own for a session.

It is ``.worktrees/NAME`` in the repository, on the branch ``hookline/NAME``. A worktree in
which nothing has changed is removed when the chat ends.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hookline_hookspecs import CommandError
from hookline_hookspecs.own_programs import own_program

FOLDER = Path(".worktrees")
"""In the repository; ``.hookline`` cannot hold it, because tools may not write there."""
BRANCH_PREFIX = "hookline/"
GIT_TIMEOUT = 120.0
"""Seconds for one command of git; a checkout of a large repository takes a while."""
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?=[A-Za-z0-9_-])){0,63}")


@dataclass(frozen=True, slots=True)
class Worktree:
    """A worktree that a chat uses. ``workspace`` is the folder in it that corresponds to the one
    where the chat was started."""

    name: str
    repository: Path
    folder: Path
    workspace: Path

    @property
    def branch(self) -> str:
        """The branch that is checked out in it at first."""
        return f"{BRANCH_PREFIX}{self.name}"


@contextmanager
def opened(start: Path, name: str) -> Iterator[Worktree]:
    """Use the worktree ``name`` of the repository around ``start``; create it if needed.

    Raises:
        CommandError: the name is invalid, there is no repository, git fails, or another chat uses
            the worktree.
    """
    if not _NAME.fullmatch(name) or name.endswith(".lock"):
        raise CommandError(
            "a worktree's name is up to 64 letters, digits, dots, hyphens and underscores, "
            "such as fix-login"
        )
    repository, prefix = _repository(start)
    folders = repository / FOLDER
    folder = folders / name
    _make_ignored(folders)
    with _locked(folders / f"{name}.lock", name):
        if not folder.exists():
            _add(repository, folder, f"{BRANCH_PREFIX}{name}")
        workspace = folder / prefix if (folder / prefix).is_dir() else folder
        yield Worktree(name, repository, folder, workspace)


def close(worktree: Worktree) -> str:
    """Remove the worktree and its branch if nothing has changed there; return a sentence."""
    kept = f"The worktree stays at {worktree.folder} (branch {worktree.branch})."
    try:
        if not _is_unchanged(worktree):
            return (
                f"{kept}\n"
                f"Go on:  hookline chat --worktree {worktree.name} --continue\n"
                f"Merge:  git merge {worktree.branch} (after you have committed in the worktree)\n"
                f"Remove: git worktree remove --force {FOLDER / worktree.name} && "
                f"git branch -D {worktree.branch}"
            )
        _git(worktree.repository, "worktree", "remove", str(worktree.folder))
        _git(worktree.repository, "branch", "-D", worktree.branch)
    except CommandError as error:
        return f"{kept} It cannot be removed: {error}"
    return f"Nothing was changed in the worktree {worktree.name}; it is removed."


def _is_unchanged(worktree: Worktree) -> bool:
    if _git(worktree.folder, "status", "--porcelain", "--untracked-files=normal"):
        return False
    if _git(worktree.folder, "rev-parse", "--abbrev-ref", "HEAD") != worktree.branch:
        return False
    own = f"refs/heads/{worktree.branch}"
    # Git takes the pattern for `--branches` without refs/heads.
    others = ("--not", f"--exclude={worktree.branch}", "--branches", "--remotes", "--tags", "HEAD")
    return not _git(worktree.repository, "rev-list", "--max-count=1", own, *others)


def _repository(start: Path) -> tuple[Path, str]:
    """Return the main work tree of the repository around ``start``, and ``start`` within it."""
    try:
        common = Path(_git(start, "rev-parse", "--path-format=absolute", "--git-common-dir"))
        top = Path(_git(start, "rev-parse", "--show-toplevel"))
        prefix = _git(start, "rev-parse", "--show-prefix")
    except CommandError as error:
        raise CommandError(
            f"--worktree needs a git repository, and {start} is not in one ({error}). "
            "Run `git init` and make a first commit, or leave --worktree out"
        ) from None
    # In a linked worktree, the main one has the others below it.
    return (common.parent if common.name == ".git" else top), prefix


def _make_ignored(folders: Path) -> None:
    try:
        folders.mkdir(parents=True, exist_ok=True)
        if not (folders / ".gitignore").exists():
            (folders / ".gitignore").write_text("*\n", "utf-8")
    except OSError as error:
        raise CommandError(f"{folders} cannot be created: {error.strerror}") from None


def _add(repository: Path, folder: Path, branch: str) -> None:
    _git(repository, "worktree", "prune")
    exists = _git(repository, "for-each-ref", f"refs/heads/{branch}")
    new = [str(folder), branch] if exists else ["-b", branch, str(folder)]
    _git(repository, "worktree", "add", "--quiet", *new)


@contextmanager
def _locked(file: Path, name: str) -> Iterator[None]:
    import filelock

    lock = filelock.FileLock(file)
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        raise CommandError(f"another chat uses the worktree {name}. Choose another name") from None
    except OSError as error:
        raise CommandError(f"{file} cannot be locked: {error.strerror}") from None
    try:
        yield
    finally:
        lock.release()


def _git(folder: Path, *arguments: str) -> str:
    """Return what git prints. Raises ``CommandError`` with its reason if it fails."""
    program = own_program("git")
    if program is None:
        raise CommandError("git is not installed")
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    safe = ("-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false")
    try:
        done = subprocess.run(
            [program, *safe, *arguments],
            cwd=folder,
            env={**env, "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=GIT_TIMEOUT,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise CommandError(f"git failed: {error}") from None
    if done.returncode != 0:
        reason = next(iter(done.stderr.strip().splitlines()), "git gave no reason")
        raise CommandError(reason.removeprefix("fatal: ")[:300])
    return done.stdout.strip()
