"""Which bundles there are, and which of them are used now.

Installed ones are in ``bundles/NAME`` of the home and used while their content is what was added.
Those of project folders are used while the person trusts the folder with what it holds.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from hookline_hookspecs import HooklineError, Host
from hookline_hookspecs.folder_trust import FolderContent, FolderTrust

from .bundle import Bundle, InvalidBundle
from .changes import changed_files, describe_changes
from .config import BundlesConfig
from .content_hash import Stamp, content_hash, file_hashes, stamp
from .folder_content import FolderRecord, folder_content, pin_hooks, read_record
from .folder_names import TRUST_KIND
from .formats import read_bundle
from .pins import Pin, Pins
from .project_folders import read_project_folders
from .removed_bundles import RemovedList
from .standing_guards import EVERYTHING, Guard, from_rows

State = Literal["on", "off", "changed", "revoked", "untrusted", "invalid"]
DATA_FOLDER = ".data"


@dataclass(frozen=True, slots=True)
class BundleStatus:
    """A bundle, and whether it is used.

    Attributes:
        source: what it was installed from, or the folder that it is in.
        scope: ``installed``, ``project`` or ``user``.
        reason: why it is not used; empty if it is.
        bundle: what it holds; None if it cannot be read.
        folder: for ``project`` and ``user`` the folder whose trust counts.
        advice: the command with which the person goes on, as a sentence without its full stop.
        guards: what its guards were for when the person agreed to them, if it is not used now and
            the person has not decided that.
    """

    name: str
    source: str
    sha256: str
    state: State
    scope: Literal["installed", "project", "user"]
    reason: str = ""
    bundle: Bundle | None = None
    folder: Path | None = None
    advice: str = ""
    guards: tuple[Guard, ...] = ()

    @property
    def explanation(self) -> str:
        """Why it is not used, and what to do."""
        return f"{self.reason}. {self.advice}" if self.advice else self.reason


class BundleLibrary:
    """Finds the bundles of the home, the workspace and the person's own folder."""

    def __init__(self, host: Host, config: BundlesConfig) -> None:
        self._host = host
        self._config = config
        self.root = host.home / "bundles"
        self.data = self.root / DATA_FOLDER
        self.pins = Pins(self.root)
        self.removed = RemovedList(self.root)
        self.workspace = Path(host.config.workspace).resolve()
        self._hashes: dict[str, tuple[Stamp, str]] = {}
        self.statuses: tuple[BundleStatus, ...] = ()

    @property
    def active(self) -> Iterator[BundleStatus]:
        """The bundles that are used."""
        return (status for status in self.statuses if status.state == "on" and status.bundle)

    def refresh(self) -> None:
        """Look at all of them again. It reads files, so call it in a thread."""
        found = [*self._installed()]
        if self._config.projects:
            found += self._in_folder(self.workspace, "project")
            person = Path.home().resolve()
            if person != self.workspace:
                found += self._in_folder(person, "user")
        self.statuses = tuple(_without_repeated_names(found))

    def describe(self, folder: Path) -> FolderContent | None:
        """Return what a folder's bundles are, for :class:`FolderContentSource`."""
        if not self._config.projects:
            return None
        scope = "user" if folder.resolve() == Path.home().resolve() else "project"
        bundles = read_project_folders(folder, scope, self.data)
        return folder_content(folder, bundles, self._trusted(folder), self._host.now())

    def _installed(self) -> Iterator[BundleStatus]:
        try:
            pins = self.pins.all()
        except HooklineError as error:
            # Nobody knows what the guards were for.
            root = str(self.root)
            yield BundleStatus(
                "all", root, "", "invalid", "installed", str(error), guards=EVERYTHING
            )
            return
        for name, known in pins.items():
            try:
                status = self._installed_status(name, known)
            except (InvalidBundle, HooklineError, OSError) as error:
                status = BundleStatus(
                    name, known.source, known.sha256, "invalid", "installed", str(error)
                )
            if status.state != "on":
                remove = f"`hookline bundles remove {name}`"
                advice = f"Run {remove} to be without it"
                if status.state == "changed":
                    advice = (
                        f"Run `hookline bundles info {name}` to see what changed, then "
                        f"`hookline bundles update {name}` or {remove}"
                    )
                status = replace(status, advice=advice, guards=from_rows(known.guards))
            yield self._unless_off(status)

    def _installed_status(self, name: str, known: Pin) -> BundleStatus:
        root = self.root / name
        base = BundleStatus(name, known.source, known.sha256, "on", "installed")
        if not root.is_dir():
            return replace(base, state="invalid", reason="its folder is gone")
        if self._hash(root) != known.sha256:
            why = "its files have changed since it was added"
            return replace(base, state="changed", reason=why)
        bundle = pin_hooks(
            replace(read_bundle(root, self.data / name, known.entry or None), name=name), root
        )
        if (removed := self.removed.reason(name, known)) is not None:
            return replace(base, state="revoked", reason=removed, bundle=bundle)
        return replace(base, bundle=bundle)

    def changes(self, status: BundleStatus) -> list[str]:
        """Return what changed in a bundle since the person agreed to it, one line each."""
        if status.state != "changed":
            return []
        if status.folder is not None:
            content = self.describe(status.folder)
            before = self._trusted(status.folder)
            known = read_record(before) if before is not None else FolderRecord()
            now = read_record(content) if content is not None else FolderRecord()
            return describe_changes((known.lines, known.files), (now.lines, now.files))
        return changed_files(
            self.pins.all()[status.name].files, file_hashes(self.root / status.name)
        )

    def _hash(self, root: Path) -> str:
        """Return the hash of a folder's content, computed again only if a file's status differs."""
        now = stamp(root)
        known = self._hashes.get(str(root))
        if known is None or known[0] != now:
            known = self._hashes[str(root)] = (now, content_hash(file_hashes(root)))
        return known[1]

    def _in_folder(self, folder: Path, scope: Literal["project", "user"]) -> Iterator[BundleStatus]:
        bundles = read_project_folders(folder, scope, self.data)
        before = self._trusted(folder)
        content = folder_content(folder, bundles, before, self._host.now())
        if content is None:
            return
        trust = self._host.services[FolderTrust].state(folder, content)
        run = f"Run `hookline trust {shlex.quote(str(folder))}` to see what it holds"
        base = BundleStatus("", "", content.digest, "on", scope, folder=folder)
        guards: Mapping[str, tuple[Guard, ...]] = {}
        if trust == "untrusted":
            base = replace(base, state="untrusted", reason=f"{folder} is not trusted", advice=run)
        elif trust == "changed" and before is not None:
            guards = read_record(before).guards
            why = f"it has changed since you trusted {folder}"
            base = replace(base, state="changed", reason=why, advice=f"{run} and what changed")
        for bundle in bundles:
            status = replace(
                base,
                name=bundle.name,
                source=str(bundle.root),
                bundle=pin_hooks(bundle, folder),
                guards=guards.get(bundle.name, ()),
            )
            yield self._unless_off(status)
        for name in guards.keys() - {bundle.name for bundle in bundles}:
            gone = replace(base, name=name, source=str(folder), guards=guards[name])
            yield self._unless_off(gone)

    def trusted(self) -> list[str]:
        """Return the digests of what the person trusts of the workspace and of their own folder."""
        found = map(self._trusted, (self.workspace, Path.home().resolve()))
        return [content.digest if content is not None else "" for content in found]

    def _trusted(self, folder: Path) -> FolderContent | None:
        return self._host.services[FolderTrust].trusted_content(folder, TRUST_KIND)

    def _unless_off(self, status: BundleStatus) -> BundleStatus:
        if status.name not in self._config.off:
            return status
        return replace(status, state="off", reason="config.yaml has it off", advice="", guards=())


def _without_repeated_names(found: Sequence[BundleStatus]) -> Iterator[BundleStatus]:
    """Yield all; the second of a name is not used, because its parts could not be told apart.

    One that the person has not agreed to takes no name away.
    """
    first: dict[str, BundleStatus] = {}
    for status in sorted(found, key=lambda one: one.state == "untrusted"):
        first.setdefault(status.name, status)
    for status in found:
        if first[status.name] is status:
            yield status
        else:
            reason = "another bundle has the same name"
            yield replace(status, state="off", reason=reason, advice="")
