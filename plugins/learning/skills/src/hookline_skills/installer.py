"""Installs other people's skills: fetched into quarantine, validated, scanned, then placed.

Nothing in a skill is run, and no installed file is executable.
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

from hookline_gitsource import fetch_repository
from hookline_hookspecs import HooklineError, Host, Refused

from . import archives, lockfile, names, safe_files
from .editor import KIND, SkillEditor
from .folders import QUARANTINE_FOLDER, place_folder, remove_folder
from .frontmatter import InvalidFrontMatter, parse_document
from .history import SkillHistory, digests, snapshot
from .library import SkillLibrary
from .records import ChangeSource
from .validation import MAIN_FILES, validate_text

ARCHIVE_SUFFIXES = (".zip", ".skill", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
DOWNLOAD_TIMEOUT = 120.0
"""Seconds that downloading an archive may take."""


class NotInstalled(HooklineError):
    """A source could not be installed; the text says why."""


@dataclass(frozen=True, slots=True)
class InstallRequest:
    """What to install.

    ``names`` choose among several skills of a source; ``replace`` allows replacing an existing
    skill; ``lenient`` accepts a skill that can be loaded but is not valid.
    """

    source: str
    names: Sequence[str] = ()
    replace: bool = False
    lenient: bool = False


@dataclass(frozen=True, slots=True)
class InstallCandidate:
    """A skill in a source: its name, its files by path, and its validation errors.

    ``unusable`` is the reason why it cannot be read; then its name is that of its folder.
    """

    name: str
    files: Mapping[str, bytes]
    errors: Sequence[str]
    unusable: str = ""


class SkillInstaller:
    """Installs skills below the library's root."""

    def __init__(
        self, host: Host, library: SkillLibrary, history: SkillHistory, editor: SkillEditor
    ) -> None:
        self._host = host
        self._library = library
        self._history = history
        self._editor = editor

    async def install(self, request: InstallRequest) -> list[str]:
        """Install all requested skills or none; return their names.

        Raises:
            NotInstalled: a skill is missing, not valid, or in conflict with another.
            Refused: the source is not allowed, or its content was refused.
            OSError: a file could not be read or written.
        """
        chosen, revision = await self._scan_source(request)
        async with self._editor.locked():
            for candidate in chosen:
                await asyncio.to_thread(self.refuse_conflict, candidate, request)
            for candidate in chosen:
                await self._place(candidate, request.source, revision)
        return [candidate.name for candidate in chosen]

    async def find_candidates(self, request: InstallRequest) -> list[InstallCandidate]:
        """Return the skills that :meth:`install` would install; raises as it does."""
        return (await self._scan_source(request))[0]

    async def put(self, candidate: InstallCandidate, request: InstallRequest, source: str) -> None:
        """Install one of :meth:`find_candidates`; ``source`` goes to the lock file.

        Raises:
            NotInstalled: it is in conflict with another skill.
        """
        async with self._editor.locked():
            await asyncio.to_thread(self.refuse_conflict, candidate, request)
            await self._place(candidate, source, "")

    async def _scan_source(self, request: InstallRequest) -> tuple[list[InstallCandidate], str]:
        files, revision = await self._load_source(request.source)
        chosen = _choose(files, request)
        for candidate in chosen:
            await self._scan_texts(candidate)
        return chosen, revision

    async def _load_source(self, source: str) -> tuple[archives.SourceFiles, str]:
        """The files of a source, and the commit of a git source."""
        if "://" not in source:
            return await asyncio.to_thread(_load_local, source), ""
        quarantine = self._library.root / QUARANTINE_FOLDER / uuid4().hex
        await asyncio.to_thread(quarantine.mkdir, 0o700, True)
        try:
            url, _, reference = source.partition("#")
            if urlsplit(url).path.lower().endswith(ARCHIVE_SUFFIXES):
                archive, revision = await self._download(url, quarantine), ""
            else:
                archive, revision = await fetch_repository(self._host, url, reference, quarantine)
            return await asyncio.to_thread(archives.read_archive, archive), revision
        finally:
            await asyncio.to_thread(shutil.rmtree, quarantine, True)

    async def _download(self, url: str, quarantine: Path) -> Path:
        if urlsplit(url).scheme != "https":
            raise Refused(f"{url[:200]!r}: archives are downloaded over https only")
        limit = archives.MAX_ARCHIVE_BYTES
        response = await self._host.http.get(url, max_bytes=limit, timeout=DOWNLOAD_TIMEOUT)
        if response.status != 200:
            raise NotInstalled(f"{url[:200]} answered with status {response.status}")
        file = quarantine / "archive"
        await asyncio.to_thread(file.write_bytes, response.body)
        return file

    async def _scan_texts(self, candidate: InstallCandidate) -> None:
        """Pass every text through ``pre_read``. Raises ``Refused``."""
        for path, data in candidate.files.items():
            label = f"skills/{candidate.name}/{path}"
            try:
                text = safe_files.decode_text(data, path)
            except safe_files.BadPath:
                continue  # binary: neither shown to a model nor run
            try:
                await self._host.read(text, label, KIND)
            except Refused as error:
                raise Refused(f"{label} was refused: {error}") from error

    def refuse_conflict(self, candidate: InstallCandidate, request: InstallRequest) -> None:
        """Raise ``NotInstalled`` if another skill is in the way."""
        root, name = self._library.root, candidate.name
        known = self._library.skills()
        lookalikes = [n for n in known if n != name and names.skeleton(n) == names.skeleton(name)]
        if lookalikes:
            raise NotInstalled(f"{name!r} looks like the skill {lookalikes[0]!r}; archive that one")
        if os.path.lexists(root / name) and not request.replace:
            changed = lockfile.describe_changes(root, name)
            note = f" (changed since: {', '.join(changed)})" if changed else ""
            raise NotInstalled(f"the skill {name} already exists{note}; use --replace")

    async def _place(self, candidate: InstallCandidate, source: str, revision: str) -> None:
        root, name = self._library.root, candidate.name
        before = await asyncio.to_thread(snapshot, root / name)
        files = dict(candidate.files)
        await self._history.record(name, before, files, "install", ChangeSource("person"))
        await asyncio.to_thread(_replace_folder, root, name, files)
        entry = lockfile.InstalledSkill(source, revision, self._host.now(), digests(files))
        await asyncio.to_thread(lockfile.record, root, name, entry)


def _replace_folder(root: Path, name: str, files: Mapping[str, bytes]) -> None:
    if os.path.lexists(root / name):
        remove_folder(root, name)
    place_folder(root, name, files)


def _load_local(source: str) -> archives.SourceFiles:
    path = Path(source).expanduser()
    if path.is_dir():
        return archives.read_folder(path.resolve())
    if path.is_file():
        return archives.read_archive(path)
    raise NotInstalled(
        f"{path} is neither a folder nor an archive; for a git repository, give its https address"
    )


def _choose(files: archives.SourceFiles, request: InstallRequest) -> list[InstallCandidate]:
    """Return the requested skills of a source. Raises ``NotInstalled``."""
    candidates = sorted(_candidates(files), key=lambda candidate: not candidate.unusable)
    found = {candidate.name: candidate for candidate in candidates}
    if not found:
        raise NotInstalled(f"{request.source} has no folder with a SKILL.md")
    if not request.names and len(found) > 1:
        raise NotInstalled(
            f"{request.source} has several skills; choose from: {', '.join(sorted(found))}"
        )
    missing = [name for name in request.names if name not in found]
    if missing:
        raise NotInstalled(
            f"{request.source} has no skill {', '.join(missing)}; it has {', '.join(sorted(found))}"
        )
    chosen = [found[name] for name in request.names or found]
    for one in chosen:
        if one.unusable:
            raise NotInstalled(one.unusable)
        reason = names.name_error(one.name)
        if reason or (one.errors and not request.lenient):
            details = reason or "; ".join(one.errors)
            hint = "" if reason else "; use --lenient to install it anyway"
            raise NotInstalled(f"the skill {one.name[:80]!r} is not valid: {details}{hint}")
    return chosen


def _candidates(files: archives.SourceFiles) -> list[InstallCandidate]:
    """Every folder with a SKILL.md that is not inside another such folder."""
    tops: list[PurePosixPath] = []
    paths = [PurePosixPath(path) for path in (*files, *files.oversized)]
    mains = [path for path in paths if path.name in MAIN_FILES]
    for main in sorted(mains, key=lambda path: (len(path.parts), str(path))):
        if not any(main.parent.is_relative_to(top) for top in tops):
            tops.append(main.parent)
    return [_candidate(files, top) for top in tops]


def _candidate(files: archives.SourceFiles, top: PurePosixPath) -> InstallCandidate:
    own = {
        str(PurePosixPath(path).relative_to(top)): data
        for path, data in files.items()
        if PurePosixPath(path).is_relative_to(top)
    }
    oversized = [path for path in files.oversized if PurePosixPath(path).is_relative_to(top)]
    main = next((name for name in MAIN_FILES if name in own), None)
    problem = (
        f"{oversized[0]} is larger than {archives.MAX_FILE_BYTES:,} bytes" if oversized else ""
    )
    if main is None:
        return InstallCandidate(top.name, own, (), problem)
    try:
        text = safe_files.decode_text(own[main], main)
        name = names.normalize(parse_document(text).front.name) or top.name
    except (InvalidFrontMatter, safe_files.BadPath) as error:
        return InstallCandidate(top.name, own, (), f"{top / main} cannot be used: {error}")
    return InstallCandidate(name, own, validate_text(text, name).errors, problem)
