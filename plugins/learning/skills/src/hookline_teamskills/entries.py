"""An entry about a version of a skill, and the bytes that are signed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias, get_args

EntryKind: TypeAlias = Literal["proposed", "approved", "rejected", "revoked"]
KINDS: tuple[EntryKind, ...] = get_args(EntryKind)
MAX_ENTRY_BYTES = 256_000
"""Bytes of a stored entry."""
_DOMAIN = b"hookline-team-skill-v1\n"
_TYPES: Mapping[str, type] = {
    **dict.fromkeys(("number", "at", "parent", "of"), int),
    **dict.fromkeys(("name", "kind", "by", "key", "author", "author_key"), str),
    **dict.fromkeys(("action", "why", "signature"), str),
}


class InvalidEntry(ValueError):
    """A stored entry cannot be read; the text says why."""


@dataclass(frozen=True, slots=True)
class TeamEntry:
    """A signed statement about one version of a skill.

    All fields are signed. ``number`` counts the versions of the skill ``name`` from 1. ``at`` is
    Unix time in microseconds. ``by`` and ``key`` (a public key, 64 hexadecimal digits) are the
    member who states it, in an approval the reviewer; ``author`` and ``author_key`` the member who
    wrote the version. ``parent`` is the version it was made from, 0 for none. ``files`` is path to
    SHA-256 (hexadecimal). ``origins`` are ``[kind, source]`` pairs. ``action`` is ``propose``,
    ``rollback`` or ``merge``; ``of`` the version that was rolled back to or merged.
    """

    name: str
    number: int
    kind: EntryKind
    at: int
    by: str
    key: str
    author: str
    author_key: str
    parent: int = 0
    files: Mapping[str, str] = field(default_factory=dict)
    origins: tuple[tuple[str, str], ...] = ()
    action: str = "propose"
    of: int = 0
    why: str = ""
    signature: str = ""

    def payload(self) -> bytes:
        """Return the bytes that are signed: all fields except the signature."""
        return _DOMAIN + canonical_json(
            {k: v for k, v in self._plain().items() if k != "signature"}
        )

    def to_json(self) -> bytes:
        """Return the stored form."""
        return canonical_json(self._plain()) + b"\n"

    def _plain(self) -> dict[str, Any]:
        return {**asdict(self), "files": dict(self.files), "origins": [*map(list, self.origins)]}

    @classmethod
    def from_json(cls, data: bytes, name: str, number: int, kind: str) -> TeamEntry:
        """Read the entry stored as ``kind`` of version ``number`` of ``name``.

        Raises:
            InvalidEntry: it cannot be read, or belongs to another version.
        """
        try:
            if len(data) > MAX_ENTRY_BYTES:
                raise InvalidEntry(f"it has more than {MAX_ENTRY_BYTES:,} bytes")
            found = json.loads(data)
            files, origins = found.pop("files", {}), found.pop("origins", [])
            entry = cls(
                **found,
                files=_check_hashes(files),
                origins=tuple((_string(k), _string(s)) for k, s in origins),
            )
        except InvalidEntry:
            raise
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise InvalidEntry("it is not an entry of this version of Hookline") from error
        for key, kind_of in _TYPES.items():
            if type(getattr(entry, key)) is not kind_of:
                raise InvalidEntry(f"expected {kind_of.__name__} for {key}")
        if (entry.name, entry.number, entry.kind) != (name, number, kind) or kind not in KINDS:
            raise InvalidEntry("it is about another version than its place says")
        return entry


def canonical_json(data: Any) -> bytes:
    """Return JSON in canonical form."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def digests(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return SHA-256 in hexadecimal by path."""
    return {path: hashlib.sha256(data).hexdigest() for path, data in sorted(files.items())}


def combined_digest(files: Mapping[str, str]) -> str:
    """Return one digest for all files, given path to SHA-256."""
    return hashlib.sha256(canonical_json(dict(files))).hexdigest()


def _check_hashes(found: Mapping[str, str]) -> dict[str, str]:
    return {_string(path): _string(sha) for path, sha in found.items()}


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    value.encode()  # refuses lone surrogates
    return value
