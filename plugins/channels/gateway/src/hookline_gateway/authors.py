"""Who wrote what the model reads: one line before the text, which no text and no name can imitate.

The line stands between ⟦ and ⟧, begins with the person's id, and has the name, which people choose
themselves, in quotation marks:

    ⟦telegram:222 "Ann"⟧
    ⟦telegram:222 "Ann", forwarded from "News" (telegram:-1001)⟧
    ⟦telegram:222 "Ann", quoting "Bob" (telegram:7): "what they wrote"⟧

These brackets are taken out of everything that people write.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from hashlib import sha256
from urllib.parse import quote

from hookline_hookspecs import Inbound
from hookline_hookspecs.inbound import is_private_chat
from hookline_hookspecs.parts import is_command

OPEN, CLOSE = "⟦", "⟧"
QUOTED = "quoted from "
"""Before the author, in the source of the origin that a channel gives a quoted message of somebody
else (``Inbound.origins``)."""
LONGEST_NAME, LONGEST_ID, LONGEST_QUOTE = 40, 120, 300
"""Characters of a name, of an id, and of a quoted text that are shown."""
SPOKEN = frozenset({"/steer"})
"""Commands whose words a model reads as they are."""
_BRACKETS = str.maketrans({**dict.fromkeys("⟦〚⟬⦋〘❲", "["), **dict.fromkeys("⟧〛⟭⦌〙❳", "]")})
_IN_NAMES = frozenset("-'.,_ ")
_KEPT = ("L", "N", "So")
_ROLES = re.compile(r"admin|operator|owner|system|assistant|moderator|developer|root|hookline")
_ALIKE = str.maketrans("аеорсіѕԁӏпмтη0134579@$|!ıɪᴀᴅᴍɴ", "aeopcisdlnmtnoieastgasliiiadmn")
"""Letters that look like others, after NFKD: Cyrillic, Greek, digits, small capitals."""
_AUTHOR = re.compile(r"(?s)(.*?)\s*\(([^()]+:[^()]+)\)\s*")
"""What a channel writes in ``Inbound.forwarded`` and behind :data:`QUOTED`: a name and, if it is
known, an id in round brackets, which no name has."""


def named(inbound: Inbound) -> Inbound:
    """The message as a model is to read it: with the line before it that it needs.

    In a chat that others read it needs one, and where it was forwarded or quotes somebody. A
    command stays as it is, unless it was forwarded: then it is none.
    """
    line = _line(inbound)
    if inbound.forwarded or not is_command(inbound.text):
        return replace(inbound, text=_with(line, inbound.text))
    name, *rest = inbound.text.split(None, 1)
    words = harmless(rest[0]) if rest else ""
    if line and words and name.casefold() in SPOKEN:
        words = _with(line, rest[0])
    return replace(inbound, text=f"{name} {words}".rstrip())


def _with(line: str, text: str) -> str:
    """The text behind its line; a text that has it already is not given it twice."""
    text = harmless(text.removeprefix(f"{line}\n") if line else text)
    return f"{line}\n{text}" if line else text


def _line(inbound: Inbound) -> str:
    quoted = [one.source for one in inbound.origins if one.source.startswith(QUOTED)]
    if not inbound.user_id or not (quoted or inbound.forwarded or not is_private_chat(inbound)):
        return ""
    parts = [shown_id(f"{inbound.channel}:{inbound.user_id}")]
    if name := shown_name(inbound.sender):
        parts.append(f' "{name}"')
    if inbound.forwarded:
        parts.append(f", forwarded from {_author(inbound.forwarded)}")
    if quoted:
        author = _author(quoted[0].removeprefix(QUOTED))
        parts.append(f', quoting {author}: "{_flat(inbound.quoted, LONGEST_QUOTE)}"')
    return f"{OPEN}{''.join(parts)}{CLOSE}"


def _author(told: str) -> str:
    """Somebody else, as the line names them."""
    found = _AUTHOR.fullmatch(told)
    name, id_ = (found[1], found[2]) if found is not None else (told, "")
    shown = shown_name(name)
    parts = [f'"{shown}"' if shown else "", f"({shown_id(id_)})" if id_ else ""]
    return " ".join(part for part in parts if part) or "somebody"


def harmless(text: str) -> str:
    """A person's text without the brackets of the line that names its author."""
    return text.translate(_BRACKETS)


def shown_id(person: str) -> str:
    """An id in ASCII: what is not is percent-encoded, so that no two look alike."""
    encoded = quote(person.encode("utf-8", "surrogatepass"), safe="!#$&*+,-./:;=?^_~|")
    if len(encoded) <= LONGEST_ID:
        return encoded
    mark = sha256(person.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{encoded[: LONGEST_ID - 17]}~{mark}"


def shown_name(name: str) -> str:
    """A name that people chose: letters, numbers and a few signs, on one line; empty if it claims
    to be an admin or the like, because that is the claim of whoever chose it."""
    folded = unicodedata.normalize("NFKC", name[:200])
    kept = [one for one in map(_of_name, folded) if one]
    shown = " ".join("".join(kept).split())[:LONGEST_NAME].strip()
    return "" if _ROLES.search(_skeleton(shown)) else shown


def _of_name(character: str) -> str:
    if character in _IN_NAMES or unicodedata.category(character).startswith(_KEPT):
        return character
    is_mark = unicodedata.category(character) == "Mc"  # vowels of Indic scripts
    return character if is_mark else " " if character.isspace() else ""


def _skeleton(name: str) -> str:
    """The name as it looks, in plain letters."""
    plain = unicodedata.normalize("NFKD", name.casefold()).translate(_ALIKE)
    return "".join(character for character in plain if "a" <= character <= "z")


def _flat(text: str, longest: int) -> str:
    """Words of somebody else on one line, without what could end it or mean something in it."""
    visible = "".join(
        character
        for character in harmless(text[: 4 * longest])
        if character.isspace() or unicodedata.category(character)[0] != "C"
    )
    line = " ".join(visible.split()).replace("@", "(at)")
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
