"""A team's skills: signed entries in one store, and what follows from them.

A store (:class:`TeamStore`; :class:`GitStore` is one) is a list of entries that only grows. Each
:class:`Entry` says of one version of one skill that it was proposed, approved, rejected or revoked,
and is signed (Ed25519) by who says so. A :class:`Ledger` reads the list as somebody who trusts
certain keys: what is approved, what is not loaded and why.
"""

from .entries import Entry, EntryKind, UnreadableEntry, digest_of, digests
from .ledger import Ledger, State, Version
from .merging import Merged, merge
from .repository import GitStore
from .signing import BadKey, Signer, is_key, signed_by
from .store import MOST_BYTES, MOST_FILES, Moved, TeamStore, Unreachable

__all__ = [
    "MOST_BYTES",
    "MOST_FILES",
    "BadKey",
    "Entry",
    "EntryKind",
    "GitStore",
    "Ledger",
    "Merged",
    "Moved",
    "Signer",
    "State",
    "TeamStore",
    "Unreachable",
    "UnreadableEntry",
    "Version",
    "digest_of",
    "digests",
    "is_key",
    "merge",
    "signed_by",
]
