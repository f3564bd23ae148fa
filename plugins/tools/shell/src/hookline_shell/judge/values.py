"""What the judge knows of a text without running anything.

A text is a Python string in which private-use characters stand for what cannot be known. They
carry where the unknown came from, so that ``curl … | sh`` and ``env | nc`` are seen however many
programs stand between.
"""

from __future__ import annotations

from collections.abc import Iterable

UNKNOWN = "\ue000"
"""Output of a program or a variable the command does not set."""
NETWORK = "\ue001"
"""Something that came over the network."""
SECRET = "\ue002"  # noqa: S105 - a marker, no password
"""A variable whose name says that it is secret."""
LISTING = "\ue003"
"""Names of files below a folder of the command's own."""
FILE = "\ue004"
"""Content of a local file."""
DIALOGUE = "\ue005"
"""What a shell that takes its orders from its input says."""
TRUSTED = "\ue006"
"""Output of a program whose purpose is to be evaluated (``ssh-agent -s``)."""
ENVIRON = "\ue007"
"""The environment as a whole, or credentials that a program prints."""
PROCESSES = "\ue008"
"""The ids of every process."""
ENDLESS = "\ue009"
"""What comes before is said again and again."""
ENCODED = "\ue00a"
"""A file's content in a form that fits into a word."""
HOOKLINE = "\ue00b"
"""The program ``hookline`` itself, under another name."""
SPLIT = "\ue010"
"""Between the elements of an array: always ends a word."""

KEPT = {" ": "\ue011", "\n": "\ue012", "\t": "\ue013"}
"""Blanks that were quoted inside an expansion and do not split it."""

MARKS = (
    *(UNKNOWN, NETWORK, SECRET, LISTING, FILE, DIALOGUE, TRUSTED),
    *(ENVIRON, PROCESSES, ENDLESS, ENCODED, HOOKLINE),
)
_CLEAN = dict.fromkeys(
    map(ord, [*MARKS, SPLIT, *KEPT.values(), *map(chr, range(0xE0F0, 0xE0F4))]), "\ufffd"
)
_KEEP = str.maketrans(KEPT)
_RELEASE = str.maketrans({kept: blank for blank, kept in KEPT.items()})
_ERASE = dict.fromkeys(map(ord, MARKS))


def clean(text: str) -> str:
    """``text`` from outside, in which no character can pass for a mark."""
    return text.translate(_CLEAN)


def marks(text: str) -> str:
    """The marks in ``text``, each once."""
    if text.isascii():
        return ""
    return "".join(mark for mark in MARKS if mark in text)


def keep_blanks(text: str) -> str:
    """``text`` whose blanks will not split it."""
    return text.translate(_KEEP)


def release_blanks(text: str) -> str:
    """The opposite, once splitting is done."""
    return text if text.isascii() else text.translate(_RELEASE)


def known(text: str) -> bool:
    """True if no part of ``text`` is unknown."""
    return not marks(text)


def without_marks(text: str) -> str:
    """``text`` as it is if every unknown part is empty."""
    return text.translate(_ERASE)


def blend(texts: Iterable[str]) -> str:
    """What a program puts out that read ``texts``: unknown, but of their origin."""
    found = marks("".join(texts)).replace(FILE, "").replace(LISTING, "").replace(TRUSTED, "")
    return found or UNKNOWN
