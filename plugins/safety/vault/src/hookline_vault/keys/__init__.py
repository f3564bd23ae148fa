"""Where the key of the vault comes from: sources, by entry points of the group ``hookline.keys``.

A source is a class with the methods of :class:`KeySource`, made with a :class:`Place`. Several may
hold keys at once: every secret names the key it is under, and :class:`Keys` finds that one.
"""

from .chain import Keys
from .local import LocalKey, LocalSource, parse_key
from .source import KeyFault, KeySource, Place

__all__ = ["KeyFault", "KeySource", "Keys", "LocalKey", "LocalSource", "Place", "parse_key"]
