"""The author line before a text that the model reads, which no text and no name can imitate.

The line is enclosed in ⟦ and ⟧, starts with the person's id, and has the name, which people choose
themselves, in quotation marks:

    ⟦telegram:222 "Ann"⟧
    ⟦telegram:222 "Ann", forwarded from "News" (telegram:-1001)⟧
    ⟦telegram:222 "Ann", quoting "Bob" (telegram:7): "what they wrote"⟧
    ⟦telegram:222 "Ann", quoting your message: "what the agent wrote"⟧

These brackets are removed from everything that people write.
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
"""Prefix of the author in an origin's source, which channels set for a quoted message of another
person (``Inbound.origins``)."""
MAX_NAME_CHARS, MAX_ID_CHARS, MAX_QUOTE_CHARS = 40, 120, 4000
"""Characters of a name, of an id, and of a quoted text that are shown; of a longer quote, the
beginning and the end."""
EARLIER = "Messages in this thread before you were mentioned, for your information:"
LINE_BREAK = " ⏎ "
"""Stands for a line break in a quoted text."""
COMMANDS_FOR_THE_MODEL = frozenset({"/steer"})
"""Commands whose argument goes to the model as it is."""
_BRACKETS = str.maketrans({**dict.fromkeys("⟦〚⟬⦋〘❲", "["), **dict.fromkeys("⟧〛⟭⦌〙❳", "]")})
_OPENING = r"(\[{（［｛「『【〈《\"“„«'"
_IN_NAMES = frozenset("-'.,_ ")
_KEPT = ("L", "N", "So")
_ROLES = re.compile(r"admin|operator|owner|system|assistant|moderator|developer|root|hookline")
_ALIKE = str.maketrans("аеорсіѕԁӏпмтη0134579@$|!ıɪᴀᴅᴍɴ", "aeopcisdlnmtnoieastgasliiiadmn")
"""Letters that look like others, after NFKD: Cyrillic, Greek, digits, small capitals."""
_OWN_QUOTES = {"agent": "your message", "sender": "their own message", "": "an earlier message"}
"""What the line calls a quoted message that nobody else wrote, by ``Inbound.quoted_by``."""
_REFERENCE = re.compile(rf"(?<![^\s{_OPENING}])@")
"""A sign before which ``context-refs`` would attach a file that somebody else has named."""
_AUTHOR = re.compile(r"(?s)(.*?)\s*\(([^()]+:[^()]+)\)\s*")
"""What a channel writes in ``Inbound.forwarded`` and behind :data:`QUOTED`: a name and, if it is
known, an id in round brackets, which no name has."""


def with_author(inbound: Inbound) -> Inbound:
    """Return the message as the model reads it: with an author line if it needs one.

    It needs one in a chat with others, and if it is forwarded or quotes something. A command
    stays as it is, unless it is forwarded: then it is not a command.
    """
    line = f"{_earlier(inbound)}{_line(inbound)}"
    if inbound.forwarded or not is_command(inbound.text):
        return replace(inbound, text=_with(line, inbound.text))
    name, *rest = inbound.text.split(None, 1)
    words = strip_brackets(rest[0]) if rest else ""
    if line and words and name.casefold() in COMMANDS_FOR_THE_MODEL:
        words = _with(line, rest[0])
    return replace(inbound, text=f"{name} {words}".rstrip())


def _with(line: str, text: str) -> str:
    """Return the text after its author line, which is not added twice."""
    text = strip_brackets(text.removeprefix(f"{line}\n") if line else text)
    return f"{line}\n{text}" if line else text


def _earlier(inbound: Inbound) -> str:
    """Return the lines for earlier messages that the agent has not read; empty without any."""
    if not inbound.earlier:
        return ""
    lines = [
        f'{_author(author) if author else "you"}: "{_flat(text, MAX_QUOTE_CHARS)}"'
        for author, text in inbound.earlier
    ]
    return "\n".join([f"{OPEN}{EARLIER}", *lines]) + f"{CLOSE}\n"


def _line(inbound: Inbound) -> str:
    quoted = _quoted(inbound)
    if not inbound.user_id or not (quoted or inbound.forwarded or not is_private_chat(inbound)):
        return ""
    parts = [shown_id(f"{inbound.channel}:{inbound.user_id}")]
    if name := shown_name(inbound.sender):
        parts.append(f' "{name}"')
    if inbound.forwarded:
        parts.append(f", forwarded from {_author(inbound.forwarded)}")
    return f"{OPEN}{''.join(parts)}{quoted}{CLOSE}"


def _quoted(inbound: Inbound) -> str:
    """Return what the line says about the quoted text; empty without one."""
    sources = [one.source for one in inbound.origins if one.source.startswith(QUOTED)]
    if sources and not inbound.quoted_by:
        whose = _author(sources[0].removeprefix(QUOTED))
    elif inbound.quoted:
        whose = _OWN_QUOTES[inbound.quoted_by]
    else:
        return ""
    return f', quoting {whose}: "{_flat(inbound.quoted, MAX_QUOTE_CHARS)}"'


def _author(label: str) -> str:
    """Return another author as the line names them."""
    found = _AUTHOR.fullmatch(label)
    name, id_ = (found[1], found[2]) if found is not None else (label, "")
    shown = shown_name(name)
    parts = [f'"{shown}"' if shown else "", f"({shown_id(id_)})" if id_ else ""]
    return " ".join(part for part in parts if part) or "somebody"


def strip_brackets(text: str) -> str:
    """Return a text without the brackets of the author line."""
    return text.translate(_BRACKETS)


def shown_id(person: str) -> str:
    """Return an id in ASCII; others are percent-encoded, so that no two ids look alike."""
    encoded = quote(person.encode("utf-8", "surrogatepass"), safe="!#$&*+,-./:;=?^_~|")
    if len(encoded) <= MAX_ID_CHARS:
        return encoded
    mark = sha256(person.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{encoded[: MAX_ID_CHARS - 17]}~{mark}"


def shown_name(name: str) -> str:
    """Return a person's own name, reduced to letters, numbers and a few signs on one line.

    It is empty if it claims a role such as admin.
    """
    folded = unicodedata.normalize("NFKC", name[:200])
    kept = [one for one in map(_of_name, folded) if one]
    shown = " ".join("".join(kept).split())[:MAX_NAME_CHARS].strip()
    return "" if _ROLES.search(_skeleton(shown)) else shown


def _of_name(character: str) -> str:
    if character in _IN_NAMES or unicodedata.category(character).startswith(_KEPT):
        return character
    is_mark = unicodedata.category(character) == "Mc"  # vowels of Indic scripts
    return character if is_mark else " " if character.isspace() else ""


def _skeleton(name: str) -> str:
    """Return the Latin letters that a name looks like."""
    plain = unicodedata.normalize("NFKD", name.casefold()).translate(_ALIKE)
    return "".join(character for character in plain if "a" <= character <= "z")


def _flat(text: str, longest: int) -> str:
    """Return a quoted text on one line, without characters that could end the line."""
    if len(text) > longest:
        text = f"{text[: longest * 3 // 4]} […] {text[-longest // 4 :]}"
    visible = "".join(
        character
        for character in strip_brackets(text)
        if character.isspace() or unicodedata.category(character)[0] != "C"
    )
    lines = (" ".join(line.split()) for line in visible.splitlines())
    return _REFERENCE.sub("(at)", LINE_BREAK.join(line for line in lines if line))
