"""Whose words a message holds that its sender did not write: what is forwarded, what is quoted."""

from __future__ import annotations

import unicodedata
from typing import Any

from hookline_hookspecs import Origin

LONGEST = 80
"""Characters of a name that are kept; people choose it themselves."""
_BRACKETS = str.maketrans(dict.fromkeys("()", " "))


def author(name: str, person: str = "") -> str:
    """``NAME (CHANNEL:ID)``, or the name alone where the platform keeps the id to itself.

    For ``Inbound.forwarded``. The name has no round brackets, so that none can pass for an id, and
    nothing that is not seen.
    """
    visible = "".join(
        character
        for character in name.translate(_BRACKETS)
        if character.isspace() or not unicodedata.category(character).startswith("C")
    )
    shown = " ".join(visible.split())[:LONGEST].strip()
    return " ".join(part for part in (shown, f"({person})" if person else "") if part) or "somebody"


def quoted_from(told: str) -> Origin:
    """For ``Inbound.origins``, where ``Inbound.quoted`` is neither the sender's text nor ours;
    ``told`` is what :func:`author` says of its author."""
    return Origin("outside", f"quoted from {told}")


def quoting(text: str, told: str = "", message: str | None = None) -> dict[str, Any]:
    """Fields of an :class:`Inbound` for what it quotes.

    Args:
        text: the words; without any nothing is quoted.
        told: what :func:`author` says of their author; empty if that is the sender, or the bot.
        message: the id of the message that they are from, where the platform tells.
    """
    if not text:
        return {}
    origins = (quoted_from(told),) if told else ()
    return {"quoted": text, "origins": origins, "reply_to": message}
