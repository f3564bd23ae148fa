"""Services about people, offered by ``access``: who is allowed in, and what each role may do.

A person is written ``CHANNEL:USER``, such as ``telegram:111``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from .inbound import Inbound

WebRole: TypeAlias = Literal["operator", "person", "auditor"]
"""The role of a person who is signed in to the web server."""
PersonRole: TypeAlias = Literal["admin", "person", "auditor", "blocked", "unknown"]
"""The role of a person on any channel."""


@dataclass(frozen=True, slots=True)
class RoleDescription:
    """A role in words: its name, and a phrase for each thing it may do."""

    name: str
    may: tuple[str, ...]


class PeopleDirectory(Protocol):
    """The people who may write, by name."""

    async def role(self, person: str) -> PersonRole:
        """Return a person's role."""

    async def allow(self, person: str, *, admin: bool, by: str, auditor: bool = False) -> None:
        """Allow a person in; ``by`` is who decided so.

        Raises ``HooklineError`` if the person is blocked or the name is invalid.
        """

    async def remove(self, person: str, by: str) -> bool:
        """Remove a person from the list. Return False if they were not on it."""


class RolePermissions(Protocol):
    """What each role may do; the table is ``roles.yaml`` of ``access``."""

    def may_call(self, role: WebRole, method: str, path: str, auth: str) -> bool:
        """Return whether a role may call a route.

        Args:
            path: the full path of the route, with its ``{parameters}``.
            auth: the route's ``auth``.
        """

    def describe(self, role: WebRole) -> RoleDescription:
        """Return a role in words."""

    async def may_read(self, inbound: Inbound, action: str) -> bool:
        """Return whether the sender of a message may use ``action`` of the table in that chat.
        Actions that concern other chats are only allowed in private chats."""
