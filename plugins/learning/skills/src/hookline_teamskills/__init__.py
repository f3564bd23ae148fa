"""A team's skills: signed entries in a shared store, and the state they add up to.

A store (:class:`TeamStore`; :class:`GitStore` is one) is an append-only list of entries. Each
:class:`TeamEntry` states that a version of a skill was proposed, approved, rejected or revoked, and
is signed (Ed25519) by the member who states it. A :class:`Ledger` computes from the list and a set
of trusted keys what is approved, and what is not loaded and why.
"""

from .entries import EntryKind, InvalidEntry, TeamEntry, combined_digest, digests
from .git_store import GitStore
from .ledger import Ledger, State, Version
from .signatures import InvalidKey, Signer, has_valid_signature
from .team_store import MAX_FILE_BYTES, MAX_FILES, StoreChanged, StoreUnreachable, TeamStore
from .three_way_merge import MergeResult, merge

__all__ = [
    "MAX_FILES",
    "MAX_FILE_BYTES",
    "EntryKind",
    "GitStore",
    "InvalidEntry",
    "InvalidKey",
    "Ledger",
    "MergeResult",
    "Signer",
    "State",
    "StoreChanged",
    "StoreUnreachable",
    "TeamEntry",
    "TeamStore",
    "Version",
    "combined_digest",
    "digests",
    "has_valid_signature",
    "merge",
]
