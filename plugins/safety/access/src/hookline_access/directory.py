"""The service ``People``: who may write, by name, for plugins that let people in by other ways than
pairing."""

from __future__ import annotations

from typing import Literal, TypeAlias

from hookline_hookspecs import HooklineError
from hookline_hookspecs.channels import TERMINAL

from .config import EVERYBODY
from .pairing import PairingRequests
from .people import People, Person, Role
from .wording import on_one_line

Name: TypeAlias = Literal["admin", "person", "auditor", "blocked", "unknown"]
NAMES: dict[Role, Name] = {
    Role.ADMIN: "admin",
    Role.MEMBER: "person",
    Role.AUDITOR: "auditor",
    Role.BLOCKED: "blocked",
    Role.UNKNOWN: "unknown",
}


class Directory:
    """The service ``PeopleDirectory``: people by name, as ``CHANNEL:USER``.

    Args:
        people: who is who.
        pairing: lets people in.
    """

    def __init__(self, people: People, pairing: PairingRequests) -> None:
        self._people = people
        self._pairing = pairing

    async def role(self, person: str) -> Name:
        """Return what a person may do; nobody knows a name that is none."""
        who = _person(person)
        return NAMES[await self._people.role(who)] if who is not None else "unknown"

    async def allow(self, person: str, *, admin: bool, by: str, auditor: bool = False) -> None:
        """Let a person in, as an admin if ``admin`` and as an auditor if ``auditor``; an admin and
        an auditor stay what they are.

        Raises ``HooklineError`` if they are blocked, or the name is no person's.
        """
        who = _person(person)
        if who is None:
            raise HooklineError(f"{on_one_line(person)} is no person; write CHANNEL:USER")
        known = await self._people.role(who)
        if known is Role.AUDITOR and not admin:
            return
        if known is not Role.UNKNOWN and (auditor or known is Role.AUDITOR):
            name = on_one_line(person)
            raise HooklineError(
                f"{name} is {known} already; `hookline pairing revoke {name}` takes that back"
            )
        if known is Role.ADMIN or (known is Role.MEMBER and not admin):
            return
        role = Role.ADMIN if admin else Role.AUDITOR if auditor else Role.MEMBER
        if not await self._pairing.let_in(who, by, role):
            raise HooklineError(
                f"{on_one_line(person)} is blocked; `hookline pairing revoke "
                f"{on_one_line(person)}` takes that back"
            )

    async def remove(self, person: str, by: str) -> bool:
        """Take a person off the list; False if they were not on it. Who config.yaml names stays."""
        who = _person(person)
        return who is not None and await self._people.drop(who, by)


def _person(text: str) -> Person | None:
    """A person who can be let in, or None."""
    who = Person.parse(text)
    if who is None or not who.can_be_known or who.channel == TERMINAL or who.user_id == EVERYBODY:
        return None
    return who
