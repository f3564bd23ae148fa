"""Installing skills of others: fetched into quarantine, taken apart, judged, scanned, then placed.

Nothing of a skill is run. No file of an installed skill is executable.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit
from uuid import uuid4

from hookline_hookspecs import HooklineError, Host, Refused

from . import archives, lock, names, safely
from .editing import KIND, Editor, discard, place
from .frontmatter import BadFrontMatter, read
from .history import History, snapshot
from .library import Library
from .records import Source
from .repository import fetch
from .validation import FILES, judge

QUARANTINE = ".quarantine"
ENDINGS = (".zip", ".skill", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
SECONDS = 120.0
"""How long an archive may take to be downloaded."""


class NotInstalled(HooklineError):
    """A source could not be installed; a sentence."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a person wants installed.

    ``names`` choose among several skills of a source; ``replace`` takes the place of a skill that
    is there; ``lenient`` takes what can be loaded although it is not valid.
    """

    source: str
    names: Sequence[str] = ()
    replace: bool = False
    lenient: bool = False


@dataclass(frozen=True, slots=True)
class Candidate:
    """A skill in a source: its name and its files by path."""

    name: str
    files: Mapping[str, bytes]
    errors: Sequence[str]


class Installer:
    """Installs skills below the library's root."""

    def __init__(self, host: Host, library: Library, history: History, editor: Editor) -> None:
        self._host = host
        self._library = library
        self._history = history
        self._editor = editor

    async def install(self, wish: Wish) -> list[str]:
        """Install what is wished for; the names, in order. All of it, or nothing.

        Raises:
            NotInstalled: the source has no such skill, one is not valid, or one is in the way.
            Refused: the source is not allowed, or its content was refused.
            OSError: a file could not be read or written.
        """
        chosen, revision = await self._scanned(wish)
        async with self._editor.locked():
            for candidate in chosen:
                await asyncio.to_thread(self.refuse_conflict, candidate, wish)
            for candidate in chosen:
                await self._place(candidate, wish.source, revision)
        return [candidate.name for candidate in chosen]

    async def judged(self, wish: Wish) -> list[Candidate]:
        """The skills that :meth:`install` would install; raises as it does."""
        return (await self._scanned(wish))[0]

    async def put(self, candidate: Candidate, wish: Wish, source: str) -> None:
        """Install one that was :meth:`judged`; ``source`` is noted. Raises ``NotInstalled``."""
        async with self._editor.locked():
            await asyncio.to_thread(self.refuse_conflict, candidate, wish)
            await self._place(candidate, source, "")

    async def _scanned(self, wish: Wish) -> tuple[list[Candidate], str]:
        files, revision = await self._gathered(wish.source)
        chosen = _chosen(files, wish)
        for candidate in chosen:
            await self._scan(candidate)
        return chosen, revision

    async def _gathered(self, source: str) -> tuple[archives.Files, str]:
        """The files of a source, and the commit of a git source."""
        if "://" not in source:
            return await asyncio.to_thread(_local, source), ""
        quarantine = self._library.root / QUARANTINE / uuid4().hex
        await asyncio.to_thread(quarantine.mkdir, 0o700, True)
        try:
            url, _, reference = source.partition("#")
            if urlsplit(url).path.lower().endswith(ENDINGS):
                archive, revision = await self._download(url, quarantine), ""
            else:
                archive, revision = await fetch(self._host, url, reference, quarantine)
            return await asyncio.to_thread(archives.unpack, archive), revision
        finally:
            await asyncio.to_thread(shutil.rmtree, quarantine, True)

    async def _download(self, url: str, quarantine: Path) -> Path:
        if urlsplit(url).scheme != "https":
            raise Refused(f"{url[:200]!r}: an archive is downloaded over https only")
        most = archives.ARCHIVE_BYTES
        response = await self._host.http.get(url, max_bytes=most, timeout=SECONDS)
        if response.status != 200:
            raise NotInstalled(f"{url[:200]} answered with status {response.status}")
        file = quarantine / "archive"
        await asyncio.to_thread(file.write_bytes, response.body)
        return file

    async def _scan(self, candidate: Candidate) -> None:
        """Every text passes the gate that guards what a model reads. Raises ``Refused``."""
        for path, data in candidate.files.items():
            label = f"skills/{candidate.name}/{path}"
            try:
                text = safely.text_of(data, path)
            except safely.BadPath:
                continue  # binary: no model reads it, and nothing runs it
            try:
                await self._host.read(text, label, KIND)
            except Refused as error:
                raise Refused(f"{label} was refused: {error}") from error

    def refuse_conflict(self, candidate: Candidate, wish: Wish) -> None:
        """Raise ``NotInstalled`` if another skill is in the way."""
        root, name = self._library.root, candidate.name
        known = self._library.skills()
        alike = [n for n in known if n != name and names.skeleton(n) == names.skeleton(name)]
        if alike:
            raise NotInstalled(
                f"{name!r} can be taken for the skill {alike[0]!r}; archive that one"
            )
        if os.path.lexists(root / name) and not wish.replace:
            changed = lock.changes(root, name)
            told = f" (changed since: {', '.join(changed)})" if changed else ""
            raise NotInstalled(f"there is a skill {name} already{told}; --replace takes its place")

    async def _place(self, candidate: Candidate, source: str, revision: str) -> None:
        root, name = self._library.root, candidate.name
        before = await asyncio.to_thread(snapshot, root / name)
        files = dict(candidate.files)
        await self._history.add(name, before, files, "install", Source("person"))
        await asyncio.to_thread(_put, root, name, files)
        entry = lock.Entry(source, revision, self._host.now(), lock.digests(files))
        await asyncio.to_thread(lock.put, root, name, entry)


def _put(root: Path, name: str, files: Mapping[str, bytes]) -> None:
    if os.path.lexists(root / name):
        discard(root, name)
    place(root, name, files)


def _local(source: str) -> archives.Files:
    path = Path(source).expanduser()
    if path.is_dir():
        return archives.collect(path.resolve())
    if path.is_file():
        return archives.unpack(path)
    raise NotInstalled(
        f"{path} is no folder and no archive; a git repository is named by its https address"
    )


def _chosen(files: Mapping[str, bytes], wish: Wish) -> list[Candidate]:
    """The skills of a source that are wanted. Raises ``NotInstalled``."""
    found = {one.name: one for one in _candidates(files)}
    if not found:
        raise NotInstalled(f"{wish.source} holds no folder with a SKILL.md")
    if not wish.names and len(found) > 1:
        raise NotInstalled(
            f"{wish.source} holds several skills; name those you want: {', '.join(sorted(found))}"
        )
    missing = [name for name in wish.names if name not in found]
    if missing:
        raise NotInstalled(
            f"{wish.source} holds no skill {', '.join(missing)}; it has {', '.join(sorted(found))}"
        )
    chosen = [found[name] for name in wish.names or found]
    for one in chosen:
        reason = names.refusal(one.name)
        if reason or (one.errors and not wish.lenient):
            said = reason or "; ".join(one.errors)
            hint = "" if reason else "; --lenient installs it all the same"
            raise NotInstalled(f"the skill {one.name[:80]!r} is not valid: {said}{hint}")
    return chosen


def _candidates(files: Mapping[str, bytes]) -> list[Candidate]:
    """Every folder with a SKILL.md that does not lie in another such folder."""
    tops: list[PurePosixPath] = []
    mains = [PurePosixPath(path) for path in files if PurePosixPath(path).name in FILES]
    for main in sorted(mains, key=lambda path: (len(path.parts), str(path))):
        if not any(main.parent.is_relative_to(top) for top in tops):
            tops.append(main.parent)
    return [_candidate(files, top) for top in tops]


def _candidate(files: Mapping[str, bytes], top: PurePosixPath) -> Candidate:
    own = {
        str(PurePosixPath(path).relative_to(top)): data
        for path, data in files.items()
        if PurePosixPath(path).is_relative_to(top)
    }
    main = next(name for name in FILES if name in own)
    try:
        text = safely.text_of(own[main], main)
        name = names.normal(read(text).front.name) or top.name
    except (BadFrontMatter, safely.BadPath) as error:
        raise NotInstalled(f"{top / main} cannot be used: {error}") from error
    return Candidate(name, own, judge(text, name).errors)
