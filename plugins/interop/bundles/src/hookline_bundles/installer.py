"""Installs bundles: fetched into quarantine, read, scanned, shown, then placed.

Nothing of a bundle is run before the person has agreed.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from hookline_gitsource import fetch_repository
from hookline_hookspecs import HooklineError, Host, Refused

from .bundle import Bundle, InvalidBundle
from .catalogs import Catalogs
from .content_hash import content_hash, file_hashes
from .formats import read_bundle
from .library import BundleLibrary
from .marketplace import MarketplaceEntry, entries
from .pins import Pin
from .standing_guards import as_rows, guards_of
from .unpacking import ARCHIVE_SUFFIXES, MAX_ARCHIVE_BYTES, Unpacking

QUARANTINE = ".quarantine"
DOWNLOAD_TIMEOUT = 180.0
"""Seconds."""
KIND = "skill"
"""The kind of text that the guards of ``pre_read`` are told."""


class NotInstalled(HooklineError):
    """A bundle could not be installed; the text says why."""


@dataclass(frozen=True, slots=True)
class BundleRequest:
    """What to install.

    Attributes:
        source: a folder, an archive, an https address, ``NAME@CATALOG`` or ``OWNER/REPOSITORY``. A
            git address may end in ``#REFERENCE`` or ``#REFERENCE:FOLDER``.
        only: the plugin of a source that holds several.
    """

    source: str
    only: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A fetched bundle in quarantine.

    Attributes:
        bundle: as it is read there.
        hashes: of its files.
        notes: what was left out when it was fetched.
    """

    name: str
    folder: Path
    bundle: Bundle
    hashes: Mapping[str, str]
    sha256: str
    request: BundleRequest
    revision: str = ""
    catalog: str = ""
    entry: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Fetched:
    folder: Path
    revision: str = ""
    notes: tuple[str, ...] = ()


class BundleInstaller:
    """Installs bundles below the library's root."""

    def __init__(self, host: Host, library: BundleLibrary, catalogs: Catalogs) -> None:
        self._host = host
        self._library = library
        self._catalogs = catalogs

    @asynccontextmanager
    async def fetched(self, request: BundleRequest) -> AsyncIterator[Candidate]:
        """Fetch, read and scan what is requested; it is deleted at the end unless it was placed.

        Raises:
            NotInstalled: it is not a bundle, or differs from what its catalog says.
            Refused: the source is not allowed, or a text was refused.
            HooklineError: it could not be fetched.
        """
        quarantine = self._library.root / QUARANTINE / uuid4().hex
        await asyncio.to_thread(quarantine.mkdir, 0o700, True)
        try:
            yield await self._candidate(request, quarantine)
        except InvalidBundle as error:
            raise NotInstalled(f"{request.source} is not a bundle: {error}") from None
        except OSError as error:
            raise NotInstalled(f"{request.source}: {error}") from None
        finally:
            await asyncio.to_thread(shutil.rmtree, quarantine, True)

    async def place(self, candidate: Candidate) -> None:
        """Move a bundle to its place and pin its content. Raises ``HooklineError``."""
        pin = Pin(
            _stored_source(candidate.request.source),
            candidate.sha256,
            candidate.hashes,
            candidate.revision,
            self._host.now(),
            candidate.catalog,
            candidate.entry or {},
            candidate.request.only,
            as_rows(guards_of(candidate.bundle.hooks)),
        )
        try:
            await asyncio.to_thread(_replace_folder, candidate, self._library.root)
        except OSError as error:
            raise NotInstalled(f"cannot write {self._library.root}: {error}") from None
        self._library.pins.put(candidate.name, pin)

    def remove(self, name: str, *, keep_data: bool = False) -> None:
        """Delete a bundle with its data. Raises ``HooklineError``."""
        if name not in self._library.pins.all():
            raise HooklineError(f"no bundle {name} is installed")
        self._library.pins.remove(name)
        shutil.rmtree(self._library.root / name, ignore_errors=True)
        if not keep_data:
            shutil.rmtree(self._library.data / name, ignore_errors=True)

    async def _candidate(self, request: BundleRequest, quarantine: Path) -> Candidate:
        name, at, catalog = request.source.partition("@")
        listed = None
        if at and "/" not in request.source and not _is_local(request.source):
            listed = await self._catalogs.find(name, catalog)
        source = listed.source if listed is not None else request.source
        fetched = await self._fetch(source, quarantine)
        entry = await self._choose(fetched, request, quarantine)
        folder, notes = entry.folder, (*fetched.notes, *entry.notes)
        data = self._library.data / "new"
        bundle = await asyncio.to_thread(read_bundle, folder, data, entry.values)
        if entry.name:
            bundle = replace(bundle, name=entry.name)
        if bundle.is_empty:
            found = "; ".join(bundle.problems[:3]) or "it holds no part that Hookline uses"
            raise NotInstalled(f"{request.source} has nothing to use: {found}")
        hashes = await asyncio.to_thread(file_hashes, folder)
        sha256 = content_hash(hashes)
        if listed is not None:
            if sha256 != listed.sha256:
                raise NotInstalled(
                    f"{request.source} is not what the catalog lists: its content has the hash "
                    f"{sha256}, and the catalog says {listed.sha256}"
                )
            bundle = replace(bundle, name=listed.name)
        candidate = Candidate(
            bundle.name,
            folder,
            bundle,
            hashes,
            sha256,
            request,
            entry.revision or fetched.revision,
            catalog if listed is not None else "",
            entry.values,
            notes,
        )
        self._refuse_removed(candidate)
        await self._scan(candidate)
        return candidate

    def _refuse_removed(self, candidate: Candidate) -> None:
        pin = Pin("", candidate.sha256, {}, catalog=candidate.catalog)
        if (why := self._library.removed.reason(candidate.name, pin)) is not None:
            raise NotInstalled(f"{candidate.name} cannot be added: {why}")

    async def _fetch(self, source: str, quarantine: Path) -> _Fetched:
        """Bring a source into a folder of the quarantine."""
        target = quarantine / f"source-{uuid4().hex[:8]}" / _folder_name(source)
        target.mkdir(mode=0o700, parents=True)
        unpacking = Unpacking(target)
        if _is_local(source):
            await asyncio.to_thread(_unpack_local, unpacking, source)
            return _Fetched(_only_folder(target), "", tuple(unpacking.problems))
        url, _, place = _address(source).partition("#")
        reference, _, inner = place.partition(":")
        revision = ""
        download = quarantine / f"download-{uuid4().hex[:8]}"
        download.mkdir()
        if urlsplit(url).path.lower().endswith(ARCHIVE_SUFFIXES):
            archive = await self._download(url, download)
        else:
            archive, revision = await fetch_repository(self._host, url, reference, download)
        await asyncio.to_thread(unpacking.archive, archive)
        folder = _only_folder(target) if not revision else target
        if inner:
            folder = _inside(folder, inner)
        return _Fetched(folder, revision, tuple(unpacking.problems))

    async def _download(self, url: str, into: Path) -> Path:
        if urlsplit(url).scheme != "https":
            raise Refused(f"{url[:200]!r}: archives are downloaded over https only")
        response = await self._host.http.get(
            url, max_bytes=MAX_ARCHIVE_BYTES, timeout=DOWNLOAD_TIMEOUT
        )
        if response.status != 200:
            raise NotInstalled(f"{url[:200]} answered with status {response.status}")
        file = into / "archive"
        await asyncio.to_thread(file.write_bytes, response.body)
        return file

    async def _choose(
        self, fetched: _Fetched, request: BundleRequest, quarantine: Path
    ) -> MarketplaceEntry:
        """Return the plugin of a source that is meant."""
        listed = entries(fetched.folder)
        whole = MarketplaceEntry("", fetched.folder, None)
        if request.only:
            found = next((one for one in listed if one.name == request.only), None)
            if found is None:
                names = ", ".join(one.name for one in listed) or "none"
                raise NotInstalled(f"{request.source} has no plugin {request.only}; it has {names}")
        elif not listed:
            return whole
        elif len(listed) == 1:
            found = listed[0]
        else:
            names = ", ".join(one.name for one in listed)
            raise NotInstalled(f"{request.source} has several plugins; add --only NAME: {names}")
        if found.elsewhere:
            other = await self._fetch(found.elsewhere, quarantine)
            return replace(found, folder=other.folder, notes=other.notes, revision=other.revision)
        return found

    async def _scan(self, candidate: Candidate) -> None:
        """Pass every text that a model may read through ``pre_read``. Raises ``Refused``."""
        bundle = candidate.bundle
        texts = {f"{one.name}/SKILL.md": one.folder / "SKILL.md" for one in bundle.skills}
        texts |= {f"commands/{one.name}": one.file for one in bundle.commands}
        texts |= {f"agents/{one.name}": one.file for one in bundle.agents}
        for name, file in texts.items():
            label = f"bundles/{candidate.name}/{name}"
            text = await asyncio.to_thread(file.read_text, "utf-8", "replace")
            try:
                await self._host.read(text, label, KIND)
            except Refused as error:
                raise Refused(f"{label} was refused: {error}") from error


def _replace_folder(candidate: Candidate, root: Path) -> None:
    place = root / candidate.name
    old = root / QUARANTINE / f"old-{uuid4().hex}"
    if os.path.lexists(place):
        place.rename(old)
    try:
        candidate.folder.rename(place)
    except OSError:
        if old.exists():
            old.rename(place)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _is_local(source: str) -> bool:
    return "://" not in source and Path(source).expanduser().exists()


def _stored_source(source: str) -> str:
    """Return a source as an update finds it from any folder."""
    return str(Path(source).expanduser().resolve()) if _is_local(source) else source


def _unpack_local(unpacking: Unpacking, source: str) -> None:
    path = Path(source).expanduser().resolve()
    if path.is_dir():
        unpacking.folder(path)
    else:
        unpacking.archive(path)


def _folder_name(source: str) -> str:
    name = Path(urlsplit(source).path.rstrip("/").partition("#")[0]).name
    return name.removesuffix(".git").lstrip(".") or "bundle"


def _only_folder(folder: Path) -> Path:
    """Return the only folder in an archive's top, as forges make them, or the top."""
    names = list(folder.iterdir())
    return names[0] if len(names) == 1 and names[0].is_dir() and not _is_part(names[0]) else folder


def _is_part(folder: Path) -> bool:
    parts = ("skills", "commands", "agents", "hooks")
    return folder.name in parts or folder.name.startswith(".")


def _inside(folder: Path, inner: str) -> Path:
    found = (folder / inner).resolve()
    if not found.is_relative_to(folder.resolve()) or not found.is_dir():
        raise NotInstalled(f"the source has no folder {inner[:100]}")
    return found


def _address(source: str) -> str:
    """Return the address of a source: ``OWNER/REPOSITORY`` is one at GitHub."""
    if "://" in source:
        return source
    plain, hash_, place = source.removeprefix("github:").partition("#")
    if plain.count("/") == 1 and all(plain.split("/")) and not plain.startswith((".", "~")):
        return f"https://github.com/{plain}{hash_}{place}"
    raise NotInstalled(
        f"{source} is neither a folder nor an archive; give a path, an https address, "
        "OWNER/REPOSITORY or NAME@CATALOG"
    )
