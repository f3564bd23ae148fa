"""Runs git so that a repository cannot make it run programs or show files outside a folder.

A repository's own config can name programs that git runs even for reading: filters, text
converters, external diffs, file system monitors, hooks, signature checkers, transports. Instead of
disabling each one, git gets a temporary repository with its own config, which uses the index and
the objects of the real one.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from hookline_hookspecs.own_programs import own_path, own_program
from hookline_hookspecs.sentences import N_

from .reference_content import UnresolvedReference

MAX_OUTPUT_BYTES = 4_000_000
"""Bytes of git's output that are read; secret files are removed from them."""
_MAX_ERROR_BYTES = 65_536
_INHERITED = (
    "PATH", "HOME", "USERPROFILE", "SYSTEMROOT", "TMPDIR", "TEMP", "TMP", "XDG_CONFIG_HOME"
)  # fmt: skip
_NEEDED = ("index", "objects", "shallow", "info/exclude")
"""Parts of the real repository."""
_SETTINGS = re.compile(
    r"core\.(?:autocrlf|eol|filemode|ignorecase|symlinks|precomposeunicode|trustctime|checkstat)"
    r"|extensions\.objectformat"
)
"""Settings copied from the real config: how files are compared with the objects."""
_VALUE = re.compile(r"[A-Za-z0-9]{1,20}")


@dataclass(frozen=True, slots=True)
class GitOutput:
    """What git printed. ``whole`` is False if it was cut at :data:`MAX_OUTPUT_BYTES`."""

    text: str
    whole: bool


@dataclass(frozen=True, slots=True)
class Repository:
    """The repository around ``folder``, as seen through the temporary one in ``env``.

    ``commit`` is the id of HEAD, empty before the first commit; ``base`` that of the commit which
    was named when it was opened.
    """

    folder: Path
    env: Mapping[str, str]
    commit: str
    seconds: float
    base: str = ""

    @property
    def objects(self) -> Path:
        """The folder with an object's file, unless git has packed it."""
        return Path(self.env["GIT_OBJECT_DIRECTORY"])

    async def run(self, *arguments: str) -> GitOutput:
        """Run git below ``folder``. Raises ``UnresolvedReference`` if it fails or takes too
        long."""
        code, text, error, whole = await _git(arguments, self.folder, self.env, self.seconds)
        if code != 0:
            raise UnresolvedReference(f"git failed: {_first_line(error)}")
        return GitOutput(text, whole)


@asynccontextmanager
async def open_repository(
    folder: Path, seconds: float, base: str = ""
) -> AsyncIterator[Repository]:
    """Open the repository around ``folder``.

    Raises:
        UnresolvedReference: there is none, or it has no commit ``base``.
    """
    env = _environment()
    where = ["--show-toplevel", "--absolute-git-dir"]
    inside = [part for name in _NEEDED for part in ("--git-path", name)]
    code, text, error, _ = await _git(["rev-parse", *where, *inside], folder, env, seconds)
    lines = text.splitlines()
    if code != 0 or len(lines) != 2 + len(_NEEDED):
        raise UnresolvedReference(N_(f"git found no repository here ({_first_line(error)})"))
    top, git_dir, index, objects, shallow, exclude = (folder / line for line in lines)
    _require_within(folder, top)
    _, commit, _, _ = await _git(["rev-parse", "-q", "--verify", "HEAD"], folder, env, seconds)
    base = await _commit_of(base, folder, env, seconds) if base else ""
    _, listed, _, _ = await _git(["config", "--null", "--list"], folder, env, seconds)
    with TemporaryDirectory(prefix="hookline-git-", ignore_cleanup_errors=True) as made:
        _initialise(Path(made), commit.strip(), listed)
        for needed in (shallow, *git_dir.glob("sharedindex.*")):
            if needed.is_file():
                shutil.copyfile(needed, Path(made) / needed.name)
        if exclude.is_file():
            (Path(made) / "info").mkdir()
            shutil.copyfile(exclude, Path(made) / "info" / "exclude")
        borrowed = {
            "GIT_DIR": made,
            "GIT_WORK_TREE": str(top),
            "GIT_INDEX_FILE": str(index),
            "GIT_OBJECT_DIRECTORY": str(objects),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "HOME": made,
            "XDG_CONFIG_HOME": made,
        }
        yield Repository(folder, {**env, **borrowed}, commit.strip(), seconds, base)


async def _commit_of(name: str, folder: Path, env: Mapping[str, str], seconds: float) -> str:
    """Return the id of a commit. Raises ``UnresolvedReference`` if there is no such commit."""
    if name.startswith("-"):
        raise UnresolvedReference(f"{name[:100]!r} is not a commit")
    wanted = ["rev-parse", "-q", "--verify", f"{name}^{{commit}}"]
    code, text, _, _ = await _git(wanted, folder, env, seconds)
    if code != 0:
        raise UnresolvedReference(f"{name[:100]!r} is neither a file here nor a commit")
    return text.strip().splitlines()[-1]


def _require_within(folder: Path, top: Path) -> None:
    if not folder.resolve().is_relative_to(top.resolve()):
        raise UnresolvedReference("the repository's config names another folder as its work tree")


def _environment() -> dict[str, str]:
    """Return what git needs of this process's environment, without any ``GIT_*``."""
    kept = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    ours = {
        "PATH": own_path(),
        "LC_ALL": "C",
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
    }
    return {**kept, **ours}


def _initialise(made: Path, commit: str, listed: str) -> None:
    """Create a repository in ``made`` with the harmless settings of ``listed``."""
    settings = {"core.bare": "false"}
    for item in listed.split("\0"):
        name, _, value = item.partition("\n")
        if _SETTINGS.fullmatch(name) and _VALUE.fullmatch(value):
            settings[name] = value
    version = 1 if "extensions.objectformat" in settings else 0
    lines = [f"[core]\n\trepositoryformatversion = {version}\n"]
    for name, value in settings.items():
        section, _, key = name.partition(".")
        lines.append(f"[{section}]\n\t{key} = {value}\n")
    (made / "config").write_text("".join(lines), encoding="utf-8")
    (made / "HEAD").write_text(f"{commit or 'ref: refs/heads/unborn'}\n", encoding="utf-8")
    (made / "refs").mkdir()
    (made / "objects").mkdir()


async def _git(
    arguments: Sequence[str], folder: Path, env: Mapping[str, str], seconds: float
) -> tuple[int, str, str, bool]:
    """Return exit code, output, errors, and whether the output is complete."""
    program = own_program("git")
    if program is None:
        raise UnresolvedReference("git is not installed")
    options = ("--no-pager", "-c", "core.quotePath=false", "-c", f"core.hooksPath={os.devnull}")
    process = await asyncio.create_subprocess_exec(
        program,
        *(*options, "-c", "core.fsmonitor=false", *arguments),
        cwd=folder,
        env=dict(env),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    errors = asyncio.create_task(_drain(process.stderr))
    try:
        async with asyncio.timeout(seconds):
            data = await _read(process.stdout, MAX_OUTPUT_BYTES + 1)
            whole = len(data) <= MAX_OUTPUT_BYTES
            error, code = (await errors, await process.wait()) if whole else (b"", 0)
    except TimeoutError:
        raise UnresolvedReference(f"git took longer than {seconds:g} s") from None
    finally:
        await _end(process, errors)
    text = data[:MAX_OUTPUT_BYTES].decode("utf-8", "replace")
    return code, text, error.decode("utf-8", "replace"), whole


async def _end(process: Process, errors: asyncio.Task[bytes]) -> None:
    """Kill the process and close its pipes."""
    errors.cancel()
    if process.returncode is None:
        with suppress(ProcessLookupError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
    await asyncio.gather(errors, return_exceptions=True)
    await process.communicate()


async def _read(stream: asyncio.StreamReader, limit: int) -> bytes:
    """Read about ``limit`` bytes at most."""
    taken = bytearray()
    while len(taken) < limit and (piece := await stream.read(65_536)):
        taken += piece
    return bytes(taken)


async def _drain(stream: asyncio.StreamReader) -> bytes:
    """Read ``stream`` to its end and return its beginning."""
    taken = await _read(stream, _MAX_ERROR_BYTES)
    while await stream.read(65_536):
        pass
    return taken


def _first_line(error: str) -> str:
    return next(iter(error.strip().splitlines()), "git printed no error")[:200]
