"""The object store: one bare repository for all folders, written and read by git's plumbing.

A snapshot is a commit without a parent, whose tree holds ``tree`` (the files) and ``meta`` (what
git cannot hold: folders, modes in full, and what was skipped). A ref under
``refs/checkpoints/CHAT/FOLDER/`` keeps it; without the ref it is pruned. ``refs/present/FOLDER`` is
the folder as it was last seen.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import secrets
import shutil
from asyncio.subprocess import Process
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import CheckpointError, GitFailed
from .folder_state import private_folder, replace_file
from .git import Git, failure

CHECKPOINTS = "refs/checkpoints"
PRESENT = "refs/present"
OID = re.compile(r"[0-9a-f]{40}")
SETTINGS = """\
[core]
\trepositoryformatversion = 0
\tbare = true
\tsharedRepository = 0600
\tcompression = 1
\tbigFileThreshold = 4m
\tlogAllRefUpdates = false
\tprotectNTFS = false
\tprotectHFS = false
\tfsmonitor = false
\tuntrackedCache = false
\tquotePath = true
\thooksPath = /dev/null
\tattributesFile = /dev/null
\texcludesFile = /dev/null
[gc]
\tauto = 0
[maintenance]
\tauto = false
[fastimport]
\tunpackLimit = 0
[pack]
\tthreads = 1
[diff]
\trenames = false
"""
"""Loose objects would cost a second process for each snapshot, so each becomes a pack."""


_TEMPORARY_FILES = (
    *("*.lock", "refs/**/*.lock", "fast_import_crash_*"),
    *("objects/tmp_*", "objects/*/tmp_*", "objects/pack/.tmp-*"),
)


@dataclass(frozen=True, slots=True)
class SavedSnapshot:
    """A snapshot in the store. ``time`` is Unix time; ``about`` is its description."""

    ref: str
    commit: str
    root: str
    time: float
    about: Mapping[str, Any]

    @property
    def folder(self) -> Path:
        """The folder that was saved."""
        return Path(str(self.about.get("folder", "")))

    @property
    def title(self) -> str:
        """The message that began the turn."""
        return str(self.about.get("title", ""))


@dataclass(frozen=True, slots=True)
class SnapshotContent:
    """What a snapshot holds: git's mode and the content's id by path, and ``meta``."""

    files: Mapping[str, tuple[int, str]]
    modes: Mapping[str, int]
    folders: Mapping[str, int]
    skipped: Mapping[str, str]


class SnapshotStore:
    """The repository in ``directory``, made when it is first written to."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.git = Git(directory)

    def make(self) -> None:
        """Make the repository if it is missing. Raises ``OSError``."""
        if (self.directory / "HEAD").is_file():
            return
        parent = self.directory.parent
        private_folder(parent)
        made = parent / f"{self.directory.name}.{secrets.token_hex(4)}.tmp"
        try:
            for name in ("", "objects", "refs", "info"):
                (made / name).mkdir(mode=0o700)
            replace_file(made / "HEAD", b"ref: refs/heads/none\n")
            replace_file(made / "config", SETTINGS.encode("ascii"))
            with suppress(OSError):  # Another process has made it.
                made.rename(self.directory)
        finally:
            shutil.rmtree(made, ignore_errors=True)

    def present(self, folder_key: str) -> str:
        """Return the commit of the folder's last known state, empty if there is none."""
        with suppress(OSError):
            text = (self.directory / PRESENT / folder_key).read_text("ascii").strip()
            return text if OID.fullmatch(text) else ""
        return ""

    def tidy(self) -> None:
        """Remove the files of a killed git; the caller holds the exclusive lock."""
        remove_temporary_files(self.directory)
        for path in self.directory.parent.glob(f"{self.directory.name}.*.tmp"):
            shutil.rmtree(path, ignore_errors=True)

    def remove(self) -> None:
        """Remove the store; the caller holds the exclusive lock."""
        aside = self.directory.with_name(f"{self.directory.name}.{secrets.token_hex(4)}.tmp")
        with suppress(OSError):
            self.directory.rename(aside)
        shutil.rmtree(aside, ignore_errors=True)

    def presents(self) -> list[str]:
        """Return the keys of the folders with a last known state."""
        with suppress(OSError):
            return [file.name for file in (self.directory / PRESENT).iterdir() if file.suffix == ""]
        return []

    # Reading

    async def saved(self, chat_key: str | None = None) -> list[SavedSnapshot]:
        """Return the snapshots of a chat, or all, newest first. Raises ``GitFailed``."""
        if not (self.directory / CHECKPOINTS).is_dir():
            return []
        under = CHECKPOINTS if chat_key is None else f"{CHECKPOINTS}/{chat_key}"
        form = "%(refname)%00%(objectname)%00%(tree)%00%(contents:subject)"
        output = await self.git.run("for-each-ref", f"--format={form}", under)
        found = [_saved(line) for line in output.decode("utf-8", "replace").splitlines()]
        return sorted(filter(None, found), key=lambda saved: stamp_of(saved.ref), reverse=True)

    async def root(self, commit: str) -> str:
        """Return the root tree of a commit. Raises ``GitFailed``."""
        output = await self.git.run("rev-parse", "--verify", f"{commit}^{{tree}}")
        return output.decode("ascii").strip()

    async def content(self, commit: str) -> SnapshotContent:
        """Return the content of the snapshot ``commit``. Raises ``GitFailed``."""
        listed = await self.git.run("ls-tree", "-r", "-z", "--full-tree", commit)
        meta = await self.git.run("cat-file", "blob", f"{commit}:meta")
        try:
            metadata = json.loads(meta)
            modes, folders, skipped = metadata["modes"], metadata["folders"], metadata["left"]
        except (ValueError, KeyError, TypeError):
            raise CheckpointError("the snapshot is damaged; choose another one") from None
        return SnapshotContent(dict(_listed(listed)), modes, folders, skipped)

    async def blobs(self, oids: Sequence[str]) -> AsyncGenerator[bytes, None]:
        """Yield the contents with these ids, in this order. Raises ``GitFailed``."""
        if not oids:
            return
        async with self.git.process("cat-file", "--batch") as process:
            assert process.stdin is not None
            asking = asyncio.create_task(_write(process, "".join(f"{oid}\n" for oid in oids)))
            try:
                for oid in oids:
                    yield await _blob(process, oid)
            finally:
                asking.cancel()
                await asyncio.gather(asking, return_exceptions=True)

    async def changes(self, pairs: Sequence[tuple[str, str]]) -> list[dict[str, int]]:
        """Return for each pair of root trees how many files were added (``A``), changed (``M``,
        ``T``) and deleted (``D``) from the first to the second. Raises ``GitFailed``."""
        counts_by_pair = {pair: {"A": 0, "M": 0, "T": 0, "D": 0} for pair in pairs}
        asked = "".join(f"{old} {new}\n" for old, new in counts_by_pair if old != new)
        if asked:
            output = await self.git.run(
                *("diff-tree", "-r", "--no-renames", "--name-status", "--stdin"),
                data=asked.encode(),
            )
            counts: dict[str, int] = {}
            for line in output.decode("utf-8", "replace").splitlines():
                status, tab, path = line.partition("\t")
                if not tab:
                    old, _, new = line.partition(" ")
                    counts = counts_by_pair.get((old, new), {})
                elif path.strip('"').startswith("tree/") and status in counts:
                    counts[status] += 1
        return [counts_by_pair[pair] for pair in pairs]

    async def difference(self, old: str, new: str, limit: int) -> tuple[str, bool]:
        """Return the patch from one commit's files to another's, at most ``limit`` bytes, and
        whether it is complete. Raises ``GitFailed``."""
        arguments = (
            *("diff-tree", "-r", "-p", "--no-ext-diff", "--no-textconv", "--no-color"),
            *("--relative=tree/", old, new),
        )
        async with self.git.process(*arguments) as process:
            assert process.stdout is not None
            taken = bytearray()
            while len(taken) <= limit and (piece := await process.stdout.read(65_536)):
                taken += piece
            whole = len(taken) <= limit
            if whole and await process.wait() != 0:
                assert process.stderr is not None
                errors = await process.stderr.read(65_536)
                raise failure("diff-tree", process.returncode, errors)
        return bytes(taken[:limit]).decode("utf-8", "replace"), whole

    # Writing

    @asynccontextmanager
    async def importing(self, folder_key: str) -> AsyncIterator[Process]:
        """A ``git fast-import`` that is ready to read; the caller finishes it."""
        # A killed git leaves this file; the caller holds the folder's lock.
        with suppress(OSError):
            (self.directory / PRESENT / f"{folder_key}.lock").unlink(missing_ok=True)
        arguments = ("fast-import", "--quiet", "--done", "--force", "--depth=0")
        async with self.git.process(*arguments) as process:
            yield process

    async def drop(self, refs: Sequence[str], holding: int) -> None:
        """Delete refs. Raises ``GitFailed``."""
        data = "".join(f"delete {ref}\n" for ref in refs).encode()
        await self.git.run("update-ref", "--stdin", data=data, holding=(holding,))

    async def free(self, holding: int) -> None:
        """Free the space of all objects without a ref. Raises ``GitFailed``.

        ``holding`` is the exclusive lock; git holds it too, so that it outlives this process.
        """
        await self.git.run("repack", "-a", "-d", "-q", holding=(holding,))
        await self.git.run("prune", "--expire=now", holding=(holding,))

    async def usage(self, commits: Sequence[str]) -> int:
        """Return the bytes that these commits take in the store. Raises ``GitFailed``."""
        if not commits:
            return 0
        data = "".join(f"{commit}\n" for commit in commits).encode()
        output = await self.git.run("rev-list", "--objects", "--disk-usage", "--stdin", data=data)
        return int(output or b"0")

    def size(self) -> tuple[int, int]:
        """Return the bytes of all objects on disk, and the number of packs."""
        return size_of(self.directory / "objects")


def remove_temporary_files(directory: Path) -> None:
    """Remove what a killed git left in a repository that nothing else uses now."""
    for pattern in _TEMPORARY_FILES:
        for path in directory.glob(pattern):
            with suppress(OSError):
                path.unlink()


def size_of(objects: Path) -> tuple[int, int]:
    """Return the bytes of all objects below a folder, and the number of packs."""
    total = packs = 0
    for root, _, names in os.walk(objects):
        for name in names:
            with suppress(OSError):
                total += (Path(root) / name).stat().st_size
            packs += name.endswith(".pack")
    return total, packs


def new_ref(chat_key: str, folder_key: str, now: float) -> str:
    """Return a ref for a snapshot taken at ``now``; refs sort by time."""
    stamp = f"{int(now * 1e6):018d}-{secrets.token_hex(2)}"
    return f"{CHECKPOINTS}/{chat_key}/{folder_key}/{stamp}"


def stamp_of(ref: str) -> str:
    """Return the key that sorts snapshots by time."""
    return ref.rpartition("/")[2]


def folder_key_of(ref: str) -> str:
    """Return the key of the folder that a snapshot's ref belongs to."""
    return ref.split("/")[-2]


def _saved(line: str) -> SavedSnapshot | None:
    try:
        ref, commit, root, subject = line.split("\0")
        about = json.loads(subject)
        return SavedSnapshot(ref, commit, root, int(stamp_of(ref).partition("-")[0]) / 1e6, about)
    except (ValueError, TypeError):
        return None


def _listed(output: bytes) -> Iterator[tuple[str, tuple[int, str]]]:
    for row in output.split(b"\0"):
        head, _, name = row.partition(b"\t")
        if name.startswith(b"tree/"):
            mode, _, oid = head.decode("ascii").split(" ")
            yield os.fsdecode(name[5:]), (int(mode, 8), oid)


async def _write(process: Process, text: str) -> None:
    assert process.stdin is not None
    with suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(text.encode())
        await process.stdin.drain()
        process.stdin.close()


async def _blob(process: Process, oid: str) -> bytes:
    assert process.stdout is not None
    try:
        head = (await process.stdout.readline()).split()
        if len(head) != 3 or head[1] != b"blob":
            raise GitFailed(f"the store has lost the content {oid}; choose another snapshot")
        return (await process.stdout.readexactly(int(head[2]) + 1))[:-1]
    except (asyncio.IncompleteReadError, ValueError):
        raise GitFailed("git cat-file ended too soon") from None
