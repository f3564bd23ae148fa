"""What people read and write: answers to pairing requests, questions put to admins, answers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from hookline_hookspecs import Question

from .codes import shown
from .pairing import Request
from .people import Person

ONCE, SESSION, ALWAYS, DENY = "Once", "This session", "Always", "Deny"
"""The choices of an approval (CONTRACT, Channels)."""
LET_IN, BLOCK = "Let in", "Block"
"""The choices of a request to be let in."""
CHOICES = (ONCE, SESSION, ALWAYS, DENY)
_MEANT = {choice.casefold(): choice for choice in CHOICES} | {"session": SESSION, "no": DENY}
_AT_DOOR = {**dict.fromkeys(("1", "let in"), LET_IN), **dict.fromkeys(("2", "block"), BLOCK)}
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories that show nothing or change what is shown around them."""

LISTED = 20
"""Requests that are listed at once."""
AUDITORS = (
    "You are an auditor here: you may give /audit, /insights, /whoami and /help, nothing else."
)
IN_PRIVATE = "{} is answered in a private chat only, because everybody in this one would read it."
NOT_YOURS = "Only an admin may answer this. Nothing was changed."
MORE_ASK = "More people ask to be let in; /pair shows who waits."
BLOCKED = "{} is blocked. `hookline pairing revoke` in the terminal takes it back."
REMOVED = "the person for whom this turn runs may no longer write here"
CLAIMED = "You are the first admin now. /help shows what there is to say."


def meant(typed: str, choices: Sequence[str]) -> str | None:
    """The one of an approval's ``choices`` that ``typed`` names exactly, or None."""
    word = typed.strip().casefold()
    numbered = {str(number): choice for number, choice in enumerate(choices, 1)}
    choice = numbered.get(word) or _MEANT.get(word)
    return choice if choice in choices else None


def named(choices: Sequence[str]) -> str:
    """How an answer to ``choices`` is written."""
    words = [choice.casefold().removeprefix("this ") for choice in choices]
    return f"{', '.join(words[:-1])} or {words[-1]}"


def meant_at_door(typed: str) -> str | None:
    """The choice about a request that ``typed`` names exactly, or None."""
    return _AT_DOOR.get(typed.strip().casefold())


def spelt(text: str) -> str:
    """``text`` with whatever cannot be seen spelt out, such as ``\\x1b``; lines and tabs stay."""
    return "".join(
        character
        if character in "\n\t" or unicodedata.category(character) not in _HIDDEN
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def on_one_line(text: str, longest: int = 100) -> str:
    """An id or the like, spelt out, on one line."""
    flat = spelt(text.replace("\n", "\\n").replace("\t", "\\t"))
    return flat if len(flat) <= longest else flat[: longest - 1] + "…"


def at_the_door(code: str, minutes: float) -> str:
    """The one answer that an unknown person gets."""
    return (
        f"I do not know you yet. Give this code to whoever runs me: {code}\n"
        f"It is good for {minutes:g} minutes. Write again when you have been let in."
    )


def without_a_code(person: Person, minutes: float) -> str:
    """The answer of somebody for whom no code is left."""
    return (
        "I do not know you yet, and too many people ask just now. Give this name to whoever runs "
        f"me: {on_one_line(str(person))}\n"
        f"Write again when you have been let in, or in {minutes:g} minutes."
    )


def waiting_text(requests: Sequence[Request]) -> str:
    """Who waits, for an admin; of many the first, because a code or a name is enough."""
    shown = [request_text(one) for one in requests[:LISTED]]
    more = len(requests) - len(shown)
    if more:
        shown.append(f"… and {more} more. /pair and a code, or CHANNEL:USER, lets somebody in.")
    return "\n\n".join(shown) or "Nobody waits to be let in."


def request_text(request: Request) -> str:
    """What an admin reads of an unknown person."""
    person, chat = on_one_line(str(request.person)), on_one_line(request.chat_id)
    return (
        f"{person} wrote in chat {chat} and is not known here. Pairing code: {request.code}\n"
        f"/pair {request.code} lets this person in, /pair {request.code} block never again."
    )


def question_text(question: Question, code: str, asker: Person, chat_id: str) -> str:
    """A question that is put to an admin, whole, as Markdown."""
    preview = spelt(question.preview)
    longest = max((len(run) for run in re.findall("`+", preview)), default=0)
    fence = "`" * max(3, longest + 1)
    block = [fence, preview, fence] if preview else []
    choices = [f"{number}. {choice}" for number, choice in enumerate(question.choices, 1)]
    who = f"For {on_one_line(str(asker))} in chat {on_one_line(chat_id)}:"
    how = f"Answer with the code and a number, such as: {code} 1"
    return "\n".join([who, spelt(question.text), *block, *choices, how])


def claim_text(code: str, minutes: float) -> str:
    """What the terminal shows while there is no admin."""
    return (
        "hookline: nobody is admin yet. Whoever sends this code on a channel first becomes the "
        f"first admin, within {minutes:g} minutes: {shown(code)}\n"
    )
