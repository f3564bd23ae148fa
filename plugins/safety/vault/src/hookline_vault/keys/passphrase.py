"""A key derived from a passphrase with scrypt; its salt is part of the key's reference."""

from __future__ import annotations

import getpass
import os
import sys

from ..envelope import KEY_BYTES, WrappingKey
from .key_source import KeyContext, KeyUnavailable
from .local_key import LocalKey

VARIABLE = "HOOKLINE_VAULT_PASSPHRASE"
NEXT_VARIABLE = "HOOKLINE_VAULT_NEXT_PASSPHRASE"
SALT_BYTES = 16
SCRYPT_N = 2**16
"""64 MiB of memory for each attempt, with r = 8 and p = 1."""
SCRYPT_R = 8
SCRYPT_P = 1
MIN_PASSPHRASE_CHARS = 12


class PassphraseKeys:
    """Reads the passphrase from ``HOOKLINE_VAULT_PASSPHRASE`` or asks for it on a terminal."""

    name = "passphrase"

    def __init__(self, context: KeyContext) -> None:
        self.context = context

    def find(self, reference: str) -> WrappingKey | None:
        """Return the key if a passphrase and the salt of the reference give it."""
        kind, _, rest = reference.partition(":")
        if kind != "scrypt":
            return None
        salt = rest.partition(":")[0]
        in_environment = [
            phrase for name in (VARIABLE, NEXT_VARIABLE) if (phrase := self.context.env.get(name))
        ]
        for phrase in in_environment:
            key = _derive(phrase, salt)
            if key.reference == reference:
                return key
        phrase = _ask("Passphrase of the vault: ") if _has_terminal() else ""
        if phrase and (key := _derive(phrase, salt)).reference == reference:
            return key
        if phrase or in_environment:
            raise KeyUnavailable("The passphrase of the vault is wrong.")
        raise KeyUnavailable(f"The passphrase of the vault is missing. Set {VARIABLE}.")

    def current(self) -> WrappingKey | None:
        """Return a new key from the passphrase, with a new salt."""
        phrase = self.context.env.get(VARIABLE, "")
        if not phrase and self.context.config.key == self.name and _has_terminal():
            phrase = _ask_twice()
        return _new_key(phrase, VARIABLE) if phrase else None

    def prepare(self) -> WrappingKey:
        """Return a key from the next passphrase, read from a variable or asked for."""
        phrase = self.context.env.get(NEXT_VARIABLE, "")
        if not phrase and _has_terminal():
            phrase = _ask_twice()
        if not phrase:
            raise KeyUnavailable(f"Set {NEXT_VARIABLE} to the new passphrase and run this again.")
        return _new_key(phrase, NEXT_VARIABLE)

    def promote(self, key: WrappingKey) -> str:
        """Return which variables to change."""
        return f"Now set {VARIABLE} to the new passphrase and unset {NEXT_VARIABLE}."


def _new_key(phrase: str, where: str) -> LocalKey:
    if len(phrase) < MIN_PASSPHRASE_CHARS:
        raise KeyUnavailable(
            f"The passphrase ({where}) needs at least {MIN_PASSPHRASE_CHARS} characters."
        )
    return _derive(phrase, os.urandom(SALT_BYTES).hex())


def _derive(phrase: str, salt: str) -> LocalKey:
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    try:
        scrypt = Scrypt(
            salt=bytes.fromhex(salt), length=KEY_BYTES, n=SCRYPT_N, r=SCRYPT_R, p=SCRYPT_P
        )
    except ValueError:
        raise KeyUnavailable(f"Invalid salt in the vault: {salt[:40]!r}.") from None
    return LocalKey(scrypt.derive(phrase.encode()), f"scrypt:{salt}")


def _has_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def _ask(question: str) -> str:
    try:
        return getpass.getpass(question)
    except (EOFError, OSError):
        return ""


def _ask_twice() -> str:
    phrase = _ask("New passphrase of the vault: ")
    if phrase and _ask("Repeat the passphrase: ") != phrase:
        raise KeyUnavailable("The passphrases differ. Nothing was changed.")
    return phrase
