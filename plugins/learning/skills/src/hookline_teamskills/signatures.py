"""A member's Ed25519 key, created when first needed and stored in the home."""

from __future__ import annotations

import getpass
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hookline_hookspecs import HooklineError

from .entries import TeamEntry

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

MAX_MEMBER_NAME_CHARS = 60


class InvalidKey(HooklineError):
    """A member's key or name cannot be used; the text says what to do."""


class Signer:
    """Signs for one member. ``name`` is shown to others; ``key`` is the public key."""

    def __init__(self, name: str, private: Ed25519PrivateKey) -> None:
        self.name = name
        self._private = private
        self.key = private.public_key().public_bytes_raw().hex()

    @classmethod
    def open(cls, path: Path, name: str = "") -> Signer:
        """Return the member whose key is in the file ``path``, which is created if missing.

        Args:
            name: renames the member; a new member is named like the account by default.

        Raises:
            InvalidKey: the file has no valid key, or the name is not valid.
        """
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        if name and (
            len(name) > MAX_MEMBER_NAME_CHARS or not name.isprintable() or name != name.strip()
        ):
            raise InvalidKey(
                f"a member's name has at most {MAX_MEMBER_NAME_CHARS} visible characters"
            )
        try:
            found = json.loads(path.read_bytes())
            seed, stored_name = bytes.fromhex(found["seed"]), str(found["name"])
            private = Ed25519PrivateKey.from_private_bytes(seed)
        except FileNotFoundError:
            _write(path, os.urandom(32), name or _account(), overwrite=False)
            return cls.open(path)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InvalidKey(
                f"{path} is not a member's key; restore it from a backup, or remove it to create a "
                "new one, which the others then have to trust"
            ) from error
        if name and name != stored_name:
            _write(path, seed, name, overwrite=True)
            stored_name = name
        return cls(stored_name, private)

    def sign(self, entry: TeamEntry) -> TeamEntry:
        """Return the entry signed by this member."""
        entry = replace(entry, by=self.name, key=self.key, signature="")
        return replace(entry, signature=self._private.sign(entry.payload()).hex())


def has_valid_signature(entry: TeamEntry) -> bool:
    """True if the signature fits the entry and the key it names."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(entry.key))
        public.verify(bytes.fromhex(entry.signature), entry.payload())
    except (InvalidSignature, ValueError):
        return False
    return True


def _write(path: Path, seed: bytes, name: str, *, overwrite: bool) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(handle, "w") as file:
            json.dump({"name": name, "seed": seed.hex()}, file)
            file.flush()
            os.fsync(file.fileno())
        if overwrite:
            temporary.replace(path)
        else:
            try:
                path.hardlink_to(temporary)  # keeps a key that another process just created
            except FileExistsError:
                return
    finally:
        temporary.unlink(missing_ok=True)


def _account() -> str:
    try:
        return getpass.getuser()[:MAX_MEMBER_NAME_CHARS]
    except (OSError, KeyError):
        return "member"
