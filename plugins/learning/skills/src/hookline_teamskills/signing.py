"""A member's key: made when it is first needed, kept in the home, Ed25519."""

from __future__ import annotations

import getpass
import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hookline_hookspecs import HooklineError

from .entries import Entry

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

NAME_CHARS = 60
_KEY = re.compile(r"[0-9a-f]{64}")


class BadKey(HooklineError):
    """A member's key cannot be used; the text says what to do."""


class Signer:
    """Signs for one member. ``name`` is what others are shown, ``key`` the public key."""

    def __init__(self, name: str, private: Ed25519PrivateKey) -> None:
        self.name = name
        self._private = private
        self.key = private.public_key().public_bytes_raw().hex()

    @classmethod
    def open(cls, path: Path, name: str = "") -> Signer:
        """Return the member whose key is in the file ``path``; it is made if it is missing.

        With ``name``, the member is called so from now on; a new one is called like the account.

        Raises:
            BadKey: the file is no key, or the name is none.
        """
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        if name and (len(name) > NAME_CHARS or not name.isprintable() or name != name.strip()):
            raise BadKey(f"a member's name has at most {NAME_CHARS} visible characters")
        try:
            found = json.loads(path.read_bytes())
            seed, called = bytes.fromhex(found["seed"]), str(found["name"])
            private = Ed25519PrivateKey.from_private_bytes(seed)
        except FileNotFoundError:
            _write(path, os.urandom(32), name or _account(), over=False)
            return cls.open(path)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BadKey(
                f"{path} is no key of a team's member; put it back from a backup, or remove it for "
                "a new one, which the others then have to trust"
            ) from error
        if name and name != called:
            _write(path, seed, name, over=True)
            called = name
        return cls(called, private)

    def sign(self, entry: Entry) -> Entry:
        """Return the entry as this member's, signed."""
        entry = replace(entry, by=self.name, key=self.key, signature="")
        return replace(entry, signature=self._private.sign(entry.payload()).hex())


def signed_by(entry: Entry) -> bool:
    """Return whether the entry was signed with the key that it names, as it is."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(entry.key))
        public.verify(bytes.fromhex(entry.signature), entry.payload())
    except (InvalidSignature, ValueError):
        return False
    return True


def is_key(text: str) -> bool:
    """Return whether ``text`` is written as a public key is."""
    return _KEY.fullmatch(text) is not None


def _write(path: Path, seed: bytes, name: str, *, over: bool) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = path.with_name(f".{path.name}.{os.getpid()}")
    handle = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(handle, "w") as file:
            json.dump({"name": name, "seed": seed.hex()}, file)
            file.flush()
            os.fsync(file.fileno())
        if over:
            made.replace(path)
        else:
            try:
                path.hardlink_to(made)  # never over one that another process has made meanwhile
            except FileExistsError:
                return
    finally:
        made.unlink(missing_ok=True)


def _account() -> str:
    try:
        return getpass.getuser()[:NAME_CHARS]
    except (OSError, KeyError):
        return "somebody"
