"""Computes from a store's entries, given trusted keys, which versions are approved and loaded.

An approval counts if it is signed with a trusted key that is not the author's. A revocation counts
regardless of its signature: in doubt, a skill is not loaded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from .entries import EntryKind, TeamEntry, combined_digest
from .signatures import has_valid_signature

State: TypeAlias = Literal["proposed", "approved", "rejected", "revoked", "merged", "not accepted"]
KEY_DIGITS_SHOWN = 12
"""Digits of a key in messages to people."""


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a skill.

    ``reviewer`` approved, rejected or revoked it. ``why`` is the reason it was rejected, revoked or
    not accepted. ``into`` is the version it was merged into, else 0.
    """

    proposal: TeamEntry
    state: State
    reviewer: str = ""
    why: str = ""
    into: int = 0
    approval: TeamEntry | None = None

    @property
    def name(self) -> str:
        """The name of the skill."""
        return self.proposal.name

    @property
    def number(self) -> int:
        """The number of the version, from 1."""
        return self.proposal.number


@dataclass(frozen=True, slots=True)
class SeenVersions:
    """What a home remembers about a store, to detect one that went back in time.

    ``heads`` is the highest approved or revoked version by name, ``revoked`` the revoked ones.
    """

    heads: Mapping[str, int] = field(default_factory=dict)
    revoked: Mapping[str, Collection[int]] = field(default_factory=dict)


class Ledger:
    """The versions of all skills.

    Args:
        entries: the entries of a store, in any order.
        trust: public keys whose approvals count.
        seen: what this home remembers about the store.
    """

    def __init__(
        self, entries: Iterable[TeamEntry], trust: Collection[str], seen: SeenVersions | None = None
    ) -> None:
        self._trust = frozenset(trust)
        self._seen = seen or SeenVersions()
        by_name: defaultdict[str, dict[int, dict[EntryKind, TeamEntry]]] = defaultdict(dict)
        for entry in entries:
            by_name[entry.name].setdefault(entry.number, {})[entry.kind] = entry
        self._versions = {
            name: self._build_versions(found) for name, found in sorted(by_name.items())
        }

    def names(self) -> list[str]:
        """Return the names of all skills."""
        return list(self._versions)

    def versions(self, name: str) -> list[Version]:
        """Return the versions of a skill, oldest first."""
        return self._versions.get(name, [])

    def version(self, name: str, number: int) -> Version | None:
        """Return one version, or None."""
        return next((version for version in self.versions(name) if version.number == number), None)

    def open_proposals(self) -> list[Version]:
        """Return the versions that wait for a review, oldest first."""
        found = [v for versions in self._versions.values() for v in versions]
        return sorted((v for v in found if v.state == "proposed"), key=lambda v: v.proposal.at)

    def head(self, name: str) -> int:
        """Return the number of the newest version that is or was approved; 0 if none."""
        found = [v.number for v in self.versions(name) if v.state in ("approved", "revoked")]
        return max(found, default=0)

    def active(self, name: str) -> Version | None:
        """Return the version to load, or None; :meth:`withheld` says why."""
        top = self.version(name, self.head(name))
        return None if top is None or self.withheld(name) else top

    def withheld(self, name: str) -> str:
        """Return why a skill is not loaded; empty if it is, or if no version was approved."""
        head = self.head(name)
        seen = self._seen.heads.get(name, 0)
        if head < seen:
            return f"version {seen} is missing from the team's store, which has gone back in time"
        top = self.version(name, head)
        if top is None:
            return ""
        if top.state == "revoked":
            why = f": {top.why}" if top.why else ""
            return f"version {head} was revoked by {top.reviewer}{why}"
        if head in self._seen.revoked.get(name, ()):
            return f"version {head} was revoked, but the team's store no longer says so"
        return ""

    def refused(self, name: str) -> list[str]:
        """Return a sentence for each newer version whose approval is not accepted."""
        head = self.head(name)
        unaccepted = [
            v for v in self.versions(name) if v.state == "not accepted" and v.number > head
        ]
        return [f"version {v.number} is not loaded: {v.why}" for v in unaccepted]

    def seen(self) -> SeenVersions:
        """Return what to remember about the store."""
        heads = dict(self._seen.heads)
        revoked = {name: set(numbers) for name, numbers in self._seen.revoked.items()}
        for name, versions in self._versions.items():
            heads[name] = max(heads.get(name, 0), self.head(name))
            gone = {v.number for v in versions if v.state == "revoked"}
            if gone:
                revoked[name] = revoked.get(name, set()) | gone
        return SeenVersions(
            {name: n for name, n in heads.items() if n},
            {name: sorted(numbers) for name, numbers in revoked.items()},
        )

    def decided_digests(self, name: str) -> set[str]:
        """Return the combined digests of all versions that were approved, merged or revoked."""
        states = ("approved", "merged", "revoked")
        decided = [v for v in self.versions(name) if v.state in states]
        return {combined_digest(v.proposal.files) for v in decided}

    # States of versions

    def _build_versions(
        self, entries: Mapping[int, Mapping[EntryKind, TeamEntry]]
    ) -> list[Version]:
        built = [self._version(entries[number]) for number in sorted(entries)]
        versions = [version for version in built if version is not None]
        into = {
            v.approval.of: v.number
            for v in versions
            if v.approval is not None and v.approval.action == "merge"
        }
        return [
            replace(v, state="merged", into=into[v.number])
            if v.number in into and v.state == "proposed"
            else v
            for v in versions
        ]

    def _version(self, found: Mapping[EntryKind, TeamEntry]) -> Version | None:
        approval, proposal = found.get("approved"), found.get("proposed")
        revoked, rejected = found.get("revoked"), found.get("rejected")
        first = approval or proposal or revoked
        if first is None:
            return None
        if revoked is not None and (approval is not None or proposal is None):
            problem = self._signature_problem(revoked)
            why = " - ".join(part for part in (revoked.why, problem) if part)
            return Version(first, "revoked", revoked.by, why)
        if approval is not None:
            problem = self._signature_problem(approval)
            if not problem and approval.key == approval.author_key:
                problem = "its author approved it"
            if problem:
                return Version(approval, "not accepted", approval.by, problem, approval=approval)
            return Version(approval, "approved", approval.by, approval=approval)
        if rejected is not None and self._may_reject(rejected, first):
            return Version(first, "rejected", rejected.by, rejected.why)
        if not has_valid_signature(first) or first.key != first.author_key:
            return Version(first, "not accepted", why="its author's signature is not valid")
        return Version(first, "proposed")

    def _may_reject(self, rejected: TeamEntry, proposal: TeamEntry) -> bool:
        return has_valid_signature(rejected) and rejected.key in {*self._trust, proposal.key}

    def _signature_problem(self, entry: TeamEntry) -> str:
        """Return why a signature does not count; empty if it does."""
        if not entry.signature:
            return "it is not signed"
        if not has_valid_signature(entry):
            return "its signature is not valid: it is forged, or the entry was changed"
        if entry.key not in self._trust:
            return (
                f"it is signed with the key {entry.key[:KEY_DIGITS_SHOWN]}… of {entry.by}, "
                "which is not in plugins.skills.trust"
            )
        return ""
