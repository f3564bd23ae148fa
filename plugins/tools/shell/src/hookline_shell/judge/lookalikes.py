"""A command as a person reads it: characters that look like ASCII ones made into those."""

from __future__ import annotations

import unicodedata
from functools import cache

from .tables import load


@cache
def _likes() -> dict[str, str]:
    return {like: plain for plain, likes in load("lookalikes").items() for like in likes}


def plain(text: str) -> str:
    """``text`` with look-alikes replaced and invisible characters left out."""
    return text if text.isascii() else "".join(map(_plain, text))


@cache
def _plain(character: str) -> str:
    if character.isascii():
        return character
    if (like := _likes().get(character)) is not None:
        return like
    category = unicodedata.category(character)
    if category in ("Zs", "Zl", "Zp"):
        return " "
    if category == "Cf":
        return ""
    folded = unicodedata.normalize("NFKC", character)
    return folded if len(folded) == 1 and folded.isascii() else character
