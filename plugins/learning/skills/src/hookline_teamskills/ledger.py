"""What the entries of a store come to for somebody who trusts certain keys.

Nothing is taken on trust but the keys: an approval counts if it is signed, as it is, with one of
them, by somebody else than the author. A revocation counts whoever has signed it: in doubt a skill
is not loaded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from .entries import Entry, EntryKind, digest_of
from .signing import signed_by

State: TypeAlias = Literal["proposed", "approved", "rejected", "revoked", "merged", "not accepted"]
SHOWN = 12
"""Digits of a key that people are shown."""


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a skill. ``reviewer`` is who approved, rejected or revoked it; ``why`` says why
    it was rejected or revoked, or is not accepted; ``into`` is the version that it was merged
    into."""

    proposal: Entry
    state: State
    reviewer: str = ""
    why: str = ""
    into: int = 0
    approval: Entry | None = None

    @property
    def name(self) -> str:
        """The skill."""
        return self.proposal.name

    @property
    def number(self) -> int:
        """Which version, from 1."""
        return self.proposal.number


@dataclass(frozen=True, slots=True)
class Seen:
    """What a home remembers of a store, so that a store which goes back in time is found out: the
    highest approved or revoked version by name, and which were revoked."""

    heads: Mapping[str, int] = field(default_factory=dict)
    revoked: Mapping[str, Collection[int]] = field(default_factory=dict)


class Ledger:
    """The versions of all skills.

    Args:
        entries: those of a store, in any order.
        trust: public keys whose approvals count.
        seen: what this home remembers.
    """

    def __init__(
        self, entries: Iterable[Entry], trust: Collection[str], seen: Seen | None = None
    ) -> None:
        self._trust = frozenset(trust)
        self._seen = seen or Seen()
        by_name: defaultdict[str, dict[int, dict[EntryKind, Entry]]] = defaultdict(dict)
        for entry in entries:
            by_name[entry.name].setdefault(entry.number, {})[entry.kind] = entry
        self._versions = {name: self._judged(found) for name, found in sorted(by_name.items())}

    def names(self) -> list[str]:
        """Return the skills of which there is any version."""
        return list(self._versions)

    def versions(self, name: str) -> list[Version]:
        """Return the versions of a skill, oldest first."""
        return self._versions.get(name, [])

    def version(self, name: str, number: int) -> Version | None:
        """Return one version, or None."""
        return next((one for one in self.versions(name) if one.number == number), None)

    def open(self) -> list[Version]:
        """Return what waits for a reviewer, oldest first."""
        found = [v for versions in self._versions.values() for v in versions]
        return sorted((v for v in found if v.state == "proposed"), key=lambda v: v.proposal.at)

    def head(self, name: str) -> int:
        """Return the newest version that is or was approved, 0 if there is none."""
        found = [v.number for v in self.versions(name) if v.state in ("approved", "revoked")]
        return max(found, default=0)

    def active(self, name: str) -> Version | None:
        """Return the version that is loaded, or None; then :meth:`withheld` says why."""
        top = self.version(name, self.head(name))
        return None if top is None or self.withheld(name) else top

    def withheld(self, name: str) -> str:
        """Return why no version of a skill is loaded; empty if one is, or none is due."""
        head = self.head(name)
        seen = self._seen.heads.get(name, 0)
        if head < seen:
            return f"version {seen} is gone from the team's store, which has gone back in time"
        top = self.version(name, head)
        if top is None:
            return ""
        if top.state == "revoked":
            why = f": {top.why}" if top.why else ""
            return f"version {head} was revoked by {top.reviewer}{why}"
        if head in self._seen.revoked.get(name, ()):
            return f"version {head} was revoked, and the team's store does not say so any more"
        return ""

    def refused(self, name: str) -> list[str]:
        """Return a sentence for each newer version that is approved and yet not accepted."""
        head = self.head(name)
        odd = [v for v in self.versions(name) if v.state == "not accepted" and v.number > head]
        return [f"version {v.number} is not loaded: {v.why}" for v in odd]

    def seen(self) -> Seen:
        """Return what to remember from now on."""
        heads = dict(self._seen.heads)
        revoked = {name: set(numbers) for name, numbers in self._seen.revoked.items()}
        for name, versions in self._versions.items():
            heads[name] = max(heads.get(name, 0), self.head(name))
            gone = {v.number for v in versions if v.state == "revoked"}
            if gone:
                revoked[name] = revoked.get(name, set()) | gone
        return Seen(
            {name: n for name, n in heads.items() if n},
            {name: sorted(numbers) for name, numbers in revoked.items()},
        )

    def handed_over(self, name: str) -> set[str]:
        """Return the digests of all states of a skill that the team has decided on."""
        states = ("approved", "merged", "revoked")
        taken = [v for v in self.versions(name) if v.state in states]
        return {digest_of(v.proposal.files) for v in taken}

    # Judging

    def _judged(self, found: Mapping[int, Mapping[EntryKind, Entry]]) -> list[Version]:
        judged = [self._version(found[number]) for number in sorted(found)]
        versions = [version for version in judged if version is not None]
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

    def _version(self, found: Mapping[EntryKind, Entry]) -> Version | None:
        approval, proposal = found.get("approved"), found.get("proposed")
        revoked, rejected = found.get("revoked"), found.get("rejected")
        first = approval or proposal or revoked
        if first is None:
            return None
        if revoked is not None and (approval is not None or proposal is None):
            doubt = self._doubt(revoked)
            why = " - ".join(part for part in (revoked.why, doubt) if part)
            return Version(first, "revoked", revoked.by, why)
        if approval is not None:
            wrong = self._doubt(approval)
            if not wrong and approval.key == approval.author_key:
                wrong = "its author approved it"
            if wrong:
                return Version(approval, "not accepted", approval.by, wrong, approval=approval)
            return Version(approval, "approved", approval.by, approval=approval)
        if rejected is not None and self._may_reject(rejected, first):
            return Version(first, "rejected", rejected.by, rejected.why)
        if not signed_by(first) or first.key != first.author_key:
            return Version(first, "not accepted", why="its author's signature does not fit")
        return Version(first, "proposed")

    def _may_reject(self, rejected: Entry, proposal: Entry) -> bool:
        return signed_by(rejected) and rejected.key in {*self._trust, proposal.key}

    def _doubt(self, entry: Entry) -> str:
        """Return why a signature does not count; empty if it does."""
        if not entry.signature:
            return "it is not signed"
        if not signed_by(entry):
            return "its signature is forged, or it was changed after it was signed"
        if entry.key not in self._trust:
            return (
                f"it is signed with the key {entry.key[:SHOWN]}… of {entry.by}, "
                "which is not in plugins.skills.trust"
            )
        return ""
