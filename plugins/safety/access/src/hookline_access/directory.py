"""The service ``PeopleDirectory``: roles by name, for plugins that do not use pairing."""

from __future__ import annotations

from typing import Literal, TypeAlias

from hookline_hookspecs import HooklineError
from hookline_hookspecs.channels import TERMINAL

from .config import EVERYBODY
from .pairing import PairingRequests
from .people import People, Person, Role, choose_role
from .texts import on_one_line

RoleName: TypeAlias = Literal["admin", "person", "auditor", "blocked", "unknown"]
ROLE_NAMES: dict[Role, RoleName] = {
    Role.ADMIN: "admin",
    Role.MEMBER: "person",
    Role.AUDITOR: "auditor",
    Role.BLOCKED: "blocked",
    Role.UNKNOWN: "unknown",
}


class AccessDirectory:
    """Implements ``PeopleDirectory``: people by name, as ``CHANNEL:USER``.

    Args:
        people: the people and their roles.
        pairing: lets people in.
    """

    def __init__(self, people: People, pairing: PairingRequests) -> None:
        self._people = people
        self._pairing = pairing

    async def role(self, person: str) -> RoleName:
        """Return the role of a person; ``unknown`` for an invalid name."""
        who = _person(person)
        return ROLE_NAMES[await self._people.role(who)] if who is not None else "unknown"

    async def allow(self, person: str, *, admin: bool, by: str, auditor: bool = False) -> None:
        """Let a person in, as an admin if ``admin`` and as an auditor if ``auditor``. Admins and
        auditors keep their role.

        Raises ``HooklineError`` if they are blocked or the name is invalid.
        """
        who = _person(person)
        if who is None:
            raise HooklineError(f"{on_one_line(person)} is not a person. Write CHANNEL:USER")
        known = await self._people.role(who)
        if known is Role.AUDITOR and not admin:
            return
        if known is not Role.UNKNOWN and (auditor or known is Role.AUDITOR):
            name = on_one_line(person)
            raise HooklineError(
                f"{name} is already {known}. Run `hookline pairing revoke {name}` to undo that"
            )
        if known is Role.ADMIN or (known is Role.MEMBER and not admin):
            return
        role = choose_role(admin=admin, auditor=auditor)
        if not await self._pairing.let_in(who, by, role):
            raise HooklineError(
                f"{on_one_line(person)} is blocked. Run `hookline pairing revoke "
                f"{on_one_line(person)}` to undo that"
            )

    async def remove(self, person: str, by: str) -> bool:
        """Forget a person; False if they were unknown. Entries in config.yaml are not changed."""
        who = _person(person)
        return who is not None and await self._people.drop(who, by)


def _person(text: str) -> Person | None:
    """The person that a name means, if they can be let in; else None."""
    who = Person.parse(text)
    if who is None or not who.can_be_known or who.channel == TERMINAL or who.user_id == EVERYBODY:
        return None
    return who
