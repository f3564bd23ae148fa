"""The service ``RolePermissions``: what the table of roles allows, for other plugins."""

from __future__ import annotations

from hookline_hookspecs import HooklineError, Inbound
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.people import RoleDescription, WebRole

from .chats import AdminChats
from .people import People, Person
from .roles import role_table
from .texts import ROLE_NAMES

TABLE_ROLES: dict[WebRole, str] = {"operator": "admin", "person": "member", "auditor": "auditor"}
"""The role in the table for each role of a browser."""


class TableRolePermissions:
    """Implements ``RolePermissions`` with the table of roles.

    Args:
        people: the people and their roles.
        chats: which chats are private.
    """

    def __init__(self, people: People, chats: AdminChats) -> None:
        self._people = people
        self._chats = chats

    def may_call(self, role: WebRole, method: str, path: str, auth: str) -> bool:
        """Whether a role may call a route."""
        return role_table().may_call(TABLE_ROLES[role], method, path, auth)

    def describe(self, role: WebRole) -> RoleDescription:
        """Return a role in words."""
        known, table = TABLE_ROLES[role], role_table()
        may = tuple(one.what for one in table.actions.values() if known in one.may)
        return RoleDescription(ROLE_NAMES[known], may)

    async def may_read(self, inbound: Inbound, action: str) -> bool:
        """Whether the sender of a message may read the answer of ``action`` in its chat."""
        if inbound.channel == TERMINAL:
            return role_table().may("operator", action)
        person = Person.of(inbound)
        try:
            role = await self._people.role(person) if person.can_be_known else "unknown"
        except HooklineError:
            return False
        return role_table().may(role, action) and self._chats.is_private(
            inbound.channel, inbound.chat_id, inbound.user_id
        )
