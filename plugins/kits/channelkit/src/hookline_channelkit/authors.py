"""Labels for the authors of text that a message forwards or quotes."""

from __future__ import annotations

import unicodedata
from typing import Any, Literal

from hookline_hookspecs import Origin

MAX_NAME_CHARS = 80
"""Characters of a name that are kept; people choose it themselves."""
_BRACKETS = str.maketrans(dict.fromkeys("()", " "))


def author_label(name: str, person: str = "") -> str:
    """Return ``NAME (CHANNEL:ID)``, or only the name if the platform does not reveal the id.

    For ``Inbound.forwarded``. Round brackets and invisible characters are removed from the name, so
    that no name can pass for an id.
    """
    visible = "".join(
        character
        for character in name.translate(_BRACKETS)
        if character.isspace() or not unicodedata.category(character).startswith("C")
    )
    shown = " ".join(visible.split())[:MAX_NAME_CHARS].strip()
    parts = (shown, f"({person})" if person else "")
    return " ".join(part for part in parts if part) or "somebody"


def quoted_origin(label: str) -> Origin:
    """Return the origin of ``Inbound.quoted`` if it is neither the sender's text nor the bot's.

    ``label`` is the :func:`author_label` of its author.
    """
    return Origin("outside", f"quoted from {label}")


def quote_fields(
    text: str,
    label: str = "",
    message: str | None = None,
    *,
    by: Literal["", "agent", "sender"] = "",
) -> dict[str, Any]:
    """Return the fields of an :class:`Inbound` for its quotation.

    Args:
        text: the quoted text, or words for a picture or another kind of message.
        label: the :func:`author_label` of its author; empty if that is the sender or the bot.
        message: the id of the quoted message, if the platform says.
        by: the author, if that is the bot or the sender.
    """
    fields: dict[str, Any] = {"reply_to": message} if message else {}
    if not text:
        return fields
    origins = (quoted_origin(label),) if label else ()
    return fields | {"quoted": text, "quoted_by": by, "origins": origins}
