"""What is said of a version of a skill, and the bytes that are signed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias, get_args

EntryKind: TypeAlias = Literal["proposed", "approved", "rejected", "revoked"]
KINDS: tuple[EntryKind, ...] = get_args(EntryKind)
LARGEST = 256_000
"""Bytes of a stored entry."""
_DOMAIN = b"hookline-team-skill-v1\n"
_TYPES: Mapping[str, type] = {
    **dict.fromkeys(("number", "at", "parent", "of"), int),
    **dict.fromkeys(("name", "kind", "by", "key", "author", "author_key"), str),
    **dict.fromkeys(("action", "why", "signature"), str),
}


class UnreadableEntry(ValueError):
    """What is stored is no entry; a sentence."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One statement.

    ``number`` counts the versions of the skill ``name`` from 1. ``at`` is Unix time in
    microseconds. ``by`` and ``key`` (a public key, 64 hexadecimal digits) are whose statement it
    is, ``author`` and ``author_key`` whose version; of an approval, ``by`` is the reviewer.
    ``parent`` is the version it was made from, 0 for none. ``files`` is path to SHA-256
    (hexadecimal). ``origins`` are ``[kind, source]`` pairs. ``action`` is ``propose``,
    ``rollback`` or ``merge``, ``of`` the version that is brought back or was merged. All of it
    is signed.
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
        """Return the bytes that are signed: everything but the signature."""
        return _DOMAIN + canonical({k: v for k, v in self._plain().items() if k != "signature"})

    def to_json(self) -> bytes:
        """Return what is stored."""
        return canonical(self._plain()) + b"\n"

    def _plain(self) -> dict[str, Any]:
        return {**asdict(self), "files": dict(self.files), "origins": [*map(list, self.origins)]}

    @classmethod
    def from_json(cls, data: bytes, name: str, number: int, kind: str) -> Entry:
        """Return what was stored as ``kind`` of version ``number`` of ``name``.

        Raises:
            UnreadableEntry: it is no entry, or one of something else.
        """
        try:
            if len(data) > LARGEST:
                raise UnreadableEntry(f"it has more than {LARGEST:,} bytes")
            found = json.loads(data)
            files, origins = found.pop("files", {}), found.pop("origins", [])
            entry = cls(
                **found, files=_texts(files), origins=tuple((_s(k), _s(s)) for k, s in origins)
            )
        except UnreadableEntry:
            raise
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise UnreadableEntry("it is no entry of this version of Hookline") from error
        for key, kind_of in _TYPES.items():
            if type(getattr(entry, key)) is not kind_of:
                raise UnreadableEntry(f"its {key} is no {kind_of.__name__}")
        if (entry.name, entry.number, entry.kind) != (name, number, kind) or kind not in KINDS:
            raise UnreadableEntry("it speaks of another version than the one it stands under")
        return entry


def canonical(data: Any) -> bytes:
    """Return JSON of which there is one form."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def digests(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return SHA-256 in hexadecimal by path."""
    return {path: hashlib.sha256(data).hexdigest() for path, data in sorted(files.items())}


def digest_of(files: Mapping[str, str]) -> str:
    """Return one digest for all files, given path to SHA-256."""
    return hashlib.sha256(canonical(dict(files))).hexdigest()


def _texts(found: Mapping[str, str]) -> dict[str, str]:
    return {_s(path): _s(sha) for path, sha in found.items()}


def _s(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    value.encode()  # half a pair is no text
    return value
