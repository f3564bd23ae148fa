"""A key made of a passphrase by scrypt; its salt is part of the key's reference."""

from __future__ import annotations

import getpass
import os
import sys

from ..envelope import KEY, Key
from .local import LocalKey
from .source import KeyFault, Place

VARIABLE, NEXT = "HOOKLINE_VAULT_PASSPHRASE", "HOOKLINE_VAULT_NEXT_PASSPHRASE"
SALT = 16
"""Bytes of a salt."""
COST, BLOCK, PARALLEL = 2**16, 8, 1
"""scrypt's N, r and p: 64 MiB of memory for each guess."""
SHORTEST = 12
"""Characters of a new passphrase."""


class PassphraseKeys:
    """Takes the passphrase from ``HOOKLINE_VAULT_PASSPHRASE``, or asks for it on a terminal."""

    name = "passphrase"

    def __init__(self, place: Place) -> None:
        self.place = place
        self._prepared: Key | None = None

    def find(self, reference: str) -> Key | None:
        """Return the key, if a passphrase makes it with the reference's salt."""
        kind, _, rest = reference.partition(":")
        if kind != "scrypt":
            return None
        salt, variables = rest.partition(":")[0], (VARIABLE, NEXT)
        for phrase in [self.place.env[name] for name in variables if self.place.env.get(name)]:
            key = _derived(phrase, salt)
            if key.reference == reference:
                return key
        phrase = _asked("Passphrase of the vault: ") if _has_terminal() else ""
        if phrase and (key := _derived(phrase, salt)).reference == reference:
            return key
        wrong = phrase or any(map(self.place.env.get, variables))
        told = "is not the one" if wrong else f"is missing: set {VARIABLE}"
        raise KeyFault(f"The passphrase of the vault {told}.")

    def current(self) -> Key | None:
        """Return a new key of the passphrase, with a salt of its own."""
        phrase = self.place.env.get(VARIABLE, "")
        if not phrase and self.place.config.key == self.name and _has_terminal():
            phrase = _asked_twice()
        return _new(phrase, VARIABLE) if phrase else None

    def prepare(self) -> Key:
        """Return a key of the next passphrase, which stands in a variable or is asked for."""
        phrase = self.place.env.get(NEXT, "")
        if not phrase and _has_terminal():
            phrase = _asked_twice()
        if not phrase:
            raise KeyFault(f"Set {NEXT} to the new passphrase, and run this again.")
        return _new(phrase, NEXT)

    def promote(self, key: Key) -> str:
        """Tell which variables have to change."""
        return f"Now set {VARIABLE} to the new passphrase, and take {NEXT} away."


def _new(phrase: str, where: str) -> LocalKey:
    if len(phrase) < SHORTEST:
        raise KeyFault(f"The passphrase ({where}) needs at least {SHORTEST} characters.")
    return _derived(phrase, os.urandom(SALT).hex())


def _derived(phrase: str, salt: str) -> LocalKey:
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    try:
        made = Scrypt(salt=bytes.fromhex(salt), length=KEY, n=COST, r=BLOCK, p=PARALLEL)
    except ValueError:
        raise KeyFault(f"The vault names a salt that is none: {salt[:40]!r}.") from None
    return LocalKey(made.derive(phrase.encode()), f"scrypt:{salt}")


def _has_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def _asked(question: str) -> str:
    try:
        return getpass.getpass(question)
    except (EOFError, OSError):
        return ""


def _asked_twice() -> str:
    phrase = _asked("New passphrase of the vault: ")
    if phrase and _asked("Once more: ") != phrase:
        raise KeyFault("The two passphrases differ; nothing was changed.")
    return phrase
