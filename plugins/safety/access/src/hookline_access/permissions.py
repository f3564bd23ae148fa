"""The service ``Permissions``: what the table of roles allows, for plugins that open doors."""

from __future__ import annotations

from hookline_hookspecs import HooklineError, Inbound
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.people import WebRole

from .chats import Chats
from .people import People, Person
from .roles import table

SITE: dict[WebRole, str] = {"operator": "admin", "person": "member", "auditor": "auditor"}
"""The table's name of each role that a browser has."""


class Permitted:
    """Answers by the table (protocol ``RolePermissions`` of ``hookline_hookspecs.people``).

    Args:
        people: who is who.
        chats: which chats are private.
    """

    def __init__(self, people: People, chats: Chats) -> None:
        self._people = people
        self._chats = chats

    def may_call(self, role: WebRole, method: str, path: str, auth: str) -> bool:
        """Whether a role may call a route."""
        return table().may_call(SITE[role], method, path, auth)

    async def may_read(self, inbound: Inbound, action: str) -> bool:
        """Whether ``action`` may be answered in the chat that a message came from."""
        if inbound.channel == TERMINAL:
            return table().may("operator", action)
        person = Person.of(inbound)
        try:
            role = await self._people.role(person) if person.can_be_known else "unknown"
        except HooklineError:
            return False
        return table().may(role, action) and self._chats.is_private(
            inbound.channel, inbound.chat_id, inbound.user_id
        )
