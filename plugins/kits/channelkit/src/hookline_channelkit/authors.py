"""Labels for the authors of text that a message forwards or quotes."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hookline_hookspecs import Origin

MAX_EARLIER_CHARS, MAX_EARLIER_TEXT_CHARS = 12_000, 3_000
"""Characters of the messages before a first mention that are kept, and of each of them."""
MISSING_LABEL = "note"
"""In place of an author, for a note that messages are missing."""
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


@dataclass(frozen=True, slots=True)
class EarlierMessage:
    """A message that the agent has not read, before one that it reads.

    Args:
        text: its text.
        label: the :func:`author_label` of its author; empty if that is the bot.
        is_own: the person who now writes to the agent wrote it.
    """

    text: str
    label: str
    is_own: bool = False


def earlier_fields(messages: Sequence[EarlierMessage]) -> dict[str, Any]:
    """Return the fields of an :class:`Inbound` for messages before it, oldest first.

    Of many, the first and the newest are kept, up to :data:`MAX_EARLIER_CHARS`.
    """
    said = [one for one in messages if one.text]
    kept: list[EarlierMessage] = []
    chars = sum(min(len(one.text), MAX_EARLIER_TEXT_CHARS) for one in said[:1])
    for one in reversed(said[1:]):
        chars += min(len(one.text), MAX_EARLIER_TEXT_CHARS)
        if chars > MAX_EARLIER_CHARS:
            break
        kept.insert(0, one)
    shown = [*said[:1], *kept]
    pairs = [(one.label, _shortened(one.text)) for one in shown]
    if missing := len(said) - len(shown):
        pairs.insert(1, (MISSING_LABEL, f"({missing} messages are left out here)"))
    others = dict.fromkeys(one.label for one in shown if one.label and not one.is_own)
    origins = tuple(Origin("outside", f"thread message of {label}") for label in others)
    return {"earlier": tuple(pairs), "origins": origins} if pairs else {}


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_EARLIER_TEXT_CHARS else f"{text[:MAX_EARLIER_TEXT_CHARS]} …"
