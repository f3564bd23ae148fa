"""The kept histories of repositories: what a rewind needs to bring back branches, tags and stash.

``history/KEY`` belongs to one repository: a bare repository ``git`` with its objects, and
``states/ID.json``, the names in it at a moment. ``refs/kept/ID`` in ``git`` keeps what these states
name. ``folders/KEY/histories/STAMP.json`` says which states belong to a checkpoint.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from . import locks
from .errors import CheckpointError, TooLarge
from .folder_state import private_folder, replace_file
from .git import Git
from .repository import (
    MAX_REPOSITORIES,
    NoRepository,
    Repository,
    RepositoryState,
    find,
    is_id,
    read,
)
from .snapshot import key_of
from .store import SETTINGS, remove_temporary_files, size_of, stamp_of

KEPT_REFS = "refs/kept/"
PACK_OBJECTS = ("pack-objects", "--revs", "-q", "--window=0", "--delta-base-offset")
"""Packs what is named on the input. The deltas of existing packs are used again, but none are
searched for, which takes five times as long."""
MAX_PACKS = 20
"""Packs of one history, one for each turn that found new commits; more are merged."""
_SHA256_SETTINGS = SETTINGS.replace("repositoryformatversion = 0", "repositoryformatversion = 1")
_SHA256_SETTINGS += "[extensions]\n\tobjectFormat = sha256\n"


@dataclass(frozen=True, slots=True)
class KeptState:
    """A repository's state as it was kept. ``place`` is its ``.git``, relative to the folder."""

    place: str
    key: str
    state: RepositoryState


class HistoryStore:
    """The histories below ``root/history``, and the records below ``root/folders``."""

    def __init__(self, root: Path, max_bytes: int) -> None:
        self._root = root
        self._max_bytes = max_bytes

    def git_dir(self, key: str) -> Path:
        """Return the bare repository with the objects of a history."""
        return self._root / "history" / key / "git"

    async def keep(self, folder: Path, ref: str, places: Sequence[str]) -> list[str]:
        """Keep the histories of the repositories at ``places`` (their ``.git``, relative to
        ``folder``) for the checkpoint ``ref``. Return a sentence for each that is not kept."""
        record: dict[str, tuple[str, str]] = {}
        failed = [f"{place} is one too many" for place in places[MAX_REPOSITORIES:]]
        async with locks.shared(self._root / "lock"):
            for place in places[:MAX_REPOSITORIES]:
                try:
                    record[place] = await self._keep(folder, folder / place)
                except NoRepository:
                    continue
                except (OSError, ValueError, CheckpointError) as error:
                    failed.append(str(error))
            if record:
                path = self._record(folder, ref)
                await asyncio.to_thread(private_folder, path.parent)
                await asyncio.to_thread(replace_file, path, json.dumps(record).encode("ascii"))
        return failed

    async def kept(self, folder: Path, ref: str) -> list[KeptState]:
        """Return the states that were kept for the checkpoint ``ref``."""
        return await asyncio.to_thread(self._kept, folder, ref)

    def _kept(self, folder: Path, ref: str) -> list[KeptState]:
        with suppress(OSError, ValueError, TypeError):
            record = json.loads(self._record(folder, ref).read_bytes())
            return [
                KeptState(place, key, _decoded((self._states(key) / f"{digest}.json").read_bytes()))
                for place, (key, digest) in record.items()
            ]
        return []

    async def _keep(self, folder: Path, place: Path) -> tuple[str, str]:
        """Keep one history; return its key and the id of its state."""
        repository = await asyncio.to_thread(find, folder, place)
        state = await asyncio.to_thread(read, repository)
        key = key_of(str(repository.common_dir))
        text = json.dumps(asdict(state), sort_keys=True).encode("ascii")
        digest = hashlib.sha256(text).hexdigest()[:32]
        path = self._states(key) / f"{digest}.json"
        if path.is_file():
            return key, digest
        async with locks.exclusive(self._root / "history" / key / "lock"):
            known = await asyncio.to_thread(_kept_ids, self.git_dir(key))
            new = state.tips - known
            if new:
                await asyncio.to_thread(self._make, key, repository, next(iter(new)))
                new = await self._copy(key, repository, new, known)
                await asyncio.to_thread(_write_kept_ids, self.git_dir(key), known | new)
            await asyncio.to_thread(private_folder, path.parent)
            await asyncio.to_thread(replace_file, path, text)
        return key, digest

    def _make(self, key: str, repository: Repository, oid: str) -> None:
        """Make the bare repository if it is missing, and give it the other's depth."""
        directory = self.git_dir(key)
        if not (directory / "HEAD").is_file():
            size, _ = size_of(repository.objects)
            if size > self._max_bytes:
                limit = f"{self._max_bytes // 1_000_000:,} MB"
                raise TooLarge(f"the history of {repository.place.parent} has more than {limit}")
            for name in ("objects/pack", "refs"):
                private_folder(directory / name)
            settings = SETTINGS if len(oid) == 40 else _SHA256_SETTINGS
            replace_file(directory / "config", settings.encode("ascii"))
            replace_file(directory / "HEAD", b"ref: refs/heads/none\n")
        shallow = repository.common_dir / "shallow"
        if shallow.is_file():
            replace_file(directory / "shallow", shallow.read_bytes())
        else:
            (directory / "shallow").unlink(missing_ok=True)

    async def _copy(
        self, key: str, repository: Repository, new: Iterable[str], known: Iterable[str]
    ) -> set[str]:
        """Copy what ``new`` names and ``known`` does not; return those of ``new`` that exist.

        git runs in the store and only borrows the objects, so that no setting of the repository
        applies. Raises ``GitFailed``.
        """
        git = Git(self.git_dir(key), borrowed=[repository.objects])
        found = await existing(git, new)
        if found:
            lines = [*sorted(found), "--not", *sorted(known)]
            await git.run(
                *PACK_OBJECTS,
                "objects/pack/pack",
                data="".join(f"{line}\n" for line in lines).encode("ascii"),
            )
        return found

    # Deleting

    async def prune(self, refs: Iterable[str], holding: int) -> None:
        """Delete what belongs to none of the checkpoints ``refs``; the caller holds the exclusive
        lock ``holding``. Raises ``GitFailed``."""
        live = await asyncio.to_thread(self._drop_records, {stamp_of(ref) for ref in refs})
        with suppress(FileNotFoundError):
            for place in await asyncio.to_thread(lambda: [*(self._root / "history").iterdir()]):
                await self._prune(place.name, live.get(place.name, set()), holding)

    def _drop_records(self, stamps: set[str]) -> dict[str, set[str]]:
        """Delete the records of dropped checkpoints; return the ids of live states by key."""
        live: dict[str, set[str]] = {}
        for path in (self._root / "folders").glob("*/histories/*.json"):
            with suppress(OSError, ValueError, TypeError):
                if path.stem not in stamps:
                    path.unlink()
                    continue
                for key, digest in json.loads(path.read_bytes()).values():
                    live.setdefault(key, set()).add(digest)
        return live

    async def _prune(self, key: str, live: set[str], holding: int) -> None:
        directory = self.git_dir(key)
        tips = await asyncio.to_thread(self._drop_states, key, live)
        size, packs = await asyncio.to_thread(size_of, directory / "objects")
        if not live or size > 2 * self._max_bytes:
            await asyncio.to_thread(self._remove, key)
            return
        await asyncio.to_thread(remove_temporary_files, directory)
        dropped = await asyncio.to_thread(_kept_ids, directory) - tips
        if packs > MAX_PACKS or (dropped and packs > 1):
            await asyncio.to_thread(_write_kept_ids, directory, tips)
            git = Git(directory)
            await git.run("repack", "-a", "-d", "-q", holding=(holding,))
            await git.run("prune", "--expire=now", holding=(holding,))

    def _drop_states(self, key: str, live: set[str]) -> set[str]:
        """Delete the states that are not ``live``; return the ids that the others name."""
        tips: set[str] = set()
        for path in self._states(key).glob("*.json"):
            if path.stem in live:
                with suppress(OSError, ValueError, TypeError):
                    tips |= _decoded(path.read_bytes()).tips
            else:
                path.unlink(missing_ok=True)
        return tips

    def _remove(self, key: str) -> None:
        place = self._root / "history" / key
        aside = place.with_name(f"{key}.{secrets.token_hex(4)}.tmp")
        with suppress(OSError):
            place.rename(aside)
        shutil.rmtree(aside, ignore_errors=True)

    def _states(self, key: str) -> Path:
        return self._root / "history" / key / "states"

    def _record(self, folder: Path, ref: str) -> Path:
        return self._root / "folders" / key_of(str(folder)) / "histories" / f"{stamp_of(ref)}.json"


async def existing(git: Git, oids: Iterable[str]) -> set[str]:
    """Return those of ``oids`` that exist. Raises ``GitFailed``."""
    data = "".join(f"{oid}\n" for oid in sorted(oids)).encode("ascii")
    output = await git.run("cat-file", "--batch-check=%(objectname)", "--buffer", data=data)
    return {line for line in output.decode("ascii").splitlines() if is_id(line)}


def _decoded(text: bytes) -> RepositoryState:
    """Parse a state. Raises ``ValueError`` and ``TypeError`` if it is invalid."""
    values: Mapping[str, object] = json.loads(text)
    state = RepositoryState(**values)  # type: ignore[arg-type]
    stash = tuple((oid, message) for oid, message in state.stash)
    return RepositoryState(**{**values, "stash": stash})  # type: ignore[arg-type]


def _kept_ids(directory: Path) -> set[str]:
    """Return the ids that the store's refs keep."""
    with suppress(OSError):
        lines = (directory / "packed-refs").read_text("ascii").splitlines()
        return {line.partition(" ")[0] for line in lines}
    return set()


def _write_kept_ids(directory: Path, oids: Iterable[str]) -> None:
    """Let the store's refs keep these ids. All refs are in one file, which is written at once."""
    text = "".join(f"{oid} {KEPT_REFS}{oid}\n" for oid in sorted(oids))
    replace_file(directory / "packed-refs", text.encode("ascii"))
