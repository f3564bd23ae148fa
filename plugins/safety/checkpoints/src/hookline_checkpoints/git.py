"""Runs git.

It gets an environment of its own, so that no setting of the person or the system applies: no hooks,
filters, signing, credential helpers, ``safe.directory``, and no variable ``GIT_…``. Settings of the
repository that could run a program are overridden, because a repository of the person, which is
opened only to restore its history, may have been tampered with.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from hookline_hookspecs.own_programs import own_path, own_program

from .errors import DiskFull, GitFailed

MIN_GIT_VERSION = (2, 31)
"""The first version with ``rev-list --disk-usage``."""
FIX = f"Install git {MIN_GIT_VERSION[0]}.{MIN_GIT_VERSION[1]} or newer."
_CHECK_TIMEOUT = 2.0
_INHERITED = ("TMPDIR", "TEMP", "TMP", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
_MAX_ERROR_CHARS = 300
_FULL = ("No space left on device", "Out of diskspace", "Disk quota exceeded", "SIGXFSZ")
"""Errors of git, or the signal, when it cannot write any more."""


_OVERRIDES = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.attributesFile": os.devnull,
    "core.commitGraph": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "submodule.recurse": "false",
    "safe.directory": "*",
}
"""Settings that take the place of the repository's. Its commit graph may be wrong on purpose."""


class Git:
    """Runs git on the repository ``directory``, which need not exist yet.

    Objects are read from ``borrowed`` folders, too, and written to ``objects`` if it is given.
    """

    def __init__(
        self, directory: Path, *, borrowed: Sequence[Path] = (), objects: Path | None = None
    ) -> None:
        self.directory = directory
        self._environment = _environment(directory)
        if borrowed:
            paths = os.pathsep.join(map(_quoted, borrowed))
            self._environment["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = paths
        if objects is not None:
            self._environment["GIT_OBJECT_DIRECTORY"] = str(objects)
            # Not the store's setting: the new files belong to the other repository.
            self._environment |= _settings({**_OVERRIDES, "core.sharedRepository": "umask"})

    async def run(
        self,
        *arguments: str,
        data: bytes = b"",
        folder: Path | None = None,
        codes: Sequence[int] = (0,),
        holding: Sequence[int] = (),
    ) -> bytes:
        """Run git with ``data`` as input and return its output. ``folder`` is the work tree,
        ``codes`` are the exit codes of success, ``holding`` are open files that git inherits, such
        as a lock. Raises ``GitFailed``."""
        async with self.process(*arguments, folder=folder, holding=holding) as process:
            output, errors = await process.communicate(data)
        if process.returncode not in codes:
            raise failure(arguments[0], process.returncode, errors)
        return output

    @asynccontextmanager
    async def process(
        self, *arguments: str, folder: Path | None = None, holding: Sequence[int] = ()
    ) -> AsyncIterator[Process]:
        """Run git with open pipes; it is killed if it still runs at the end of the block."""
        program = own_program("git")
        if program is None:
            raise GitFailed("git is not installed")
        tree = () if folder is None else (f"--work-tree={folder}",)
        try:
            process = await asyncio.create_subprocess_exec(
                program,
                *("--no-pager", f"--git-dir={self.directory}"),
                *tree,
                *arguments,
                cwd=folder or self.directory,
                env=self._environment | _inherited(),
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                start_new_session=True,
                pass_fds=tuple(holding),
            )
        except OSError as error:
            raise GitFailed(f"git cannot be started: {error.strerror or error}") from None
        try:
            yield process
        finally:
            await _end(process)


async def missing_git(folder: Path) -> str:
    """Return why git cannot be used, run in ``folder``; empty if it can."""
    if os.open not in os.supports_dir_fd:
        return "checkpoints need Linux, macOS or another POSIX system"
    if own_program("git") is None:
        return "git is not installed"
    try:
        async with asyncio.timeout(_CHECK_TIMEOUT):
            text = (await Git(folder).run("version")).decode("utf-8", "replace").strip()
    except (GitFailed, TimeoutError) as error:
        return f"git does not work: {error or 'too slow'}"
    found = re.search(r"(\d+)\.(\d+)", text)
    if found is None or (int(found[1]), int(found[2])) < MIN_GIT_VERSION:
        return f"{text} is too old"
    return ""


def failure(command: str, code: int | None, errors: bytes) -> GitFailed:
    """Return the exception for a failed git, with its first error line."""
    sentence = _error_text(command, code, errors)
    if any(sign in sentence for sign in _FULL):
        return DiskFull(f"the disk is full ({sentence})")
    return GitFailed(sentence)


def _error_text(command: str, code: int | None, errors: bytes) -> str:
    text = errors.decode("utf-8", "replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if code is not None and code < 0:
        with suppress(ValueError):
            return f"git {command} was killed ({signal.Signals(-code).name})"
    said = next((line for line in lines if "fatal" in line or "error" in line), "")
    said = (said or next(iter(lines), "it gave no reason"))[:_MAX_ERROR_CHARS]
    return f"git {command} failed: {said}"


async def _end(process: Process) -> None:
    """Kill the process if it still runs, and close its pipes."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    with suppress(OSError):
        await process.communicate()


def _quoted(path: Path) -> str:
    """Return a path for a list of paths."""
    escaped = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _settings(values: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that set these settings for one process."""
    found = {"GIT_CONFIG_COUNT": str(len(values))}
    for number, (key, value) in enumerate(values.items()):
        found |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return found


def _inherited() -> dict[str, str]:
    kept = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    return {**kept, "PATH": own_path()}


def _environment(directory: Path) -> dict[str, str]:
    return _settings(_OVERRIDES) | {
        "HOME": str(directory),
        "XDG_CONFIG_HOME": str(directory),
        "LC_ALL": "C",
        "GIT_AUTHOR_NAME": "Hookline",
        "GIT_AUTHOR_EMAIL": "hookline@localhost",
        "GIT_COMMITTER_NAME": "Hookline",
        "GIT_COMMITTER_EMAIL": "hookline@localhost",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
    }
