"""Texts for people: pairing requests, questions to admins, refusals."""

from __future__ import annotations

from collections.abc import Sequence

from hookline_hookspecs.visible_text import spell_out
from hookline_hookspecs.web.language import N_

from .codes import format_code
from .pairing import PairingRequest
from .people import Person

MAX_LISTED_REQUESTS = 20
ROLE_NAMES = {
    "admin": N_("Admin"),
    "member": N_("Member"),
    "auditor": N_("Auditor"),
    "blocked": N_("Blocked"),
}
"""What people read for each role."""
AUDITORS = "You are an auditor here and can only use /audit, /insights, /whoami and /help."
IN_PRIVATE = "{} is answered only in a private chat, because everyone in this one would read it."
NOT_YOURS = "Only an admin may answer this. Nothing was changed."
MORE_REQUESTS = "More people are asking to be let in. /pair lists them."
BLOCKED = "{} is blocked. To undo this, run `hookline pairing revoke` in the terminal."
REMOVED = "the person for whom this turn runs may no longer write here"
CLAIMED = "You are the first admin now. /help lists the commands."


def on_one_line(text: str, max_chars: int = 100) -> str:
    """An id or similar text on one line, without invisible characters."""
    flat = spell_out(text.replace("\n", "\\n").replace("\t", "\\t"))
    return flat if len(flat) <= max_chars else flat[: max_chars - 1] + "…"


def pairing_prompt(code: str, minutes: float) -> str:
    """The answer to an unknown person, with their pairing code."""
    return (
        f"I do not know you yet. Give this code to the person who runs me: {code}\n"
        f"It is valid for {minutes:g} minutes. Write again once you have been let in."
    )


def group_prompt() -> str:
    """The answer to an unknown person in a group, where everyone would read a code."""
    return "I do not know you yet. Write to me in a private chat to be let in."


def no_code_left_text(person: Person, minutes: float) -> str:
    """The answer to an unknown person when no code is left."""
    return (
        "I do not know you yet, and too many people are asking right now. Give this name to the "
        f"person who runs me: {on_one_line(str(person))}\n"
        f"Write again once you have been let in, or in {minutes:g} minutes."
    )


def waiting_text(requests: Sequence[PairingRequest]) -> str:
    """The open requests for an admin; of many only the first, because a code or name is enough."""
    texts = [request_text(request) for request in requests[:MAX_LISTED_REQUESTS]]
    more = len(requests) - len(texts)
    if more:
        texts.append(N_(f"… and {more} more. To let someone in: /pair CODE or /pair CHANNEL:USER."))
    return "\n\n".join(texts) or N_("No one is waiting to be let in.")


def question_text(request: PairingRequest) -> str:
    """The question to an admin about a pairing request."""
    person, chat = on_one_line(str(request.person)), on_one_line(request.chat_id)
    return f"{person} wrote in chat {chat} and is not known here. Pairing code: {request.code}"


def request_text(request: PairingRequest) -> str:
    """A pairing request in the list for an admin."""
    code = request.code
    how = N_(f"To let them in: /pair {code}. To block them: /pair {code} block.")
    return f"{question_text(request)}\n{how}"


def claim_text(code: str, minutes: float) -> str:
    """The text for the terminal while there is no admin."""
    return (
        "hookline: there is no admin yet. The first person to send this code on a channel within "
        f"{minutes:g} minutes becomes admin: {format_code(code)}\n"
    )
