r"""File names as a model can repeat them.

File names may hold spaces that no keyboard types, as macOS puts U+202F into the names of
screenshots, characters that show nothing, and bytes that are no text. :func:`shown_name` writes
spaces as plain ones and the rest as escapes; the path guard finds the file by what is shown.
"""

from __future__ import annotations

import unicodedata

_JOINERS = "\u200c\u200d\ufe0e\ufe0f"
"""Characters that emoji and some scripts need; a model may leave them out."""


def shown_name(name: str) -> str:
    r"""Return ``name`` on one line, with plain spaces and escapes such as ``\u202e``."""
    if name.isascii() and name.isprintable():
        return name
    return "".join(_shown(char) for char in name)


def exact_name(name: str) -> str:
    r"""Return ``name`` with all unusual spaces as escapes too, to tell similar names apart."""
    return "".join(char if char == " " else _exact(char) for char in name)


def name_key(name: str) -> str:
    """Return what two names have in common that are shown alike."""
    key = unicodedata.normalize("NFC", shown_name(name))
    return "".join(char for char in key if char not in _JOINERS)


def _shown(char: str) -> str:
    return " " if unicodedata.category(char) == "Zs" else _exact(char, _JOINERS)


def _exact(char: str, kept: str = "") -> str:
    if char in kept or (char.isprintable() and char not in _JOINERS):
        return char
    if "\udc80" <= char <= "\udcff":  # A byte that is not UTF-8, as os.fsdecode returns it.
        return f"\\x{ord(char) & 0xFF:02x}"
    return char.encode("unicode_escape", "surrogatepass").decode("ascii")
