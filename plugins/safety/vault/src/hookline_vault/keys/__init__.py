"""The sources of the vault's key, which are entry points of the group ``hookline.keys``.

A source is a class with the methods of :class:`KeySource`, created with a :class:`KeyContext`.
Several sources may hold keys at the same time: every secret names its key, and :class:`KeyChain`
finds that one.
"""

from .key_chain import KeyChain
from .key_source import KeyContext, KeySource, KeyUnavailable
from .local_key import LocalKey, LocalSource, parse_key

__all__ = [
    "KeyChain",
    "KeyContext",
    "KeySource",
    "KeyUnavailable",
    "LocalKey",
    "LocalSource",
    "parse_key",
]
