"""Adds rows to the audit log, if the plugin ``audit`` is on.

::

    from hookline_hookspecs.audit import note

    note(host, "sql", "prod", "ran", detail={"sql": sql, "rows": 3})

The plugin ``audit`` provides the service :class:`Audit`; without it, :func:`note` does nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol, TypeAlias, get_args

from hookline_hookspecs import Context, Host

__all__ = ["KINDS", "Audit", "Kind", "config_changed", "note", "session_deleted"]

Kind: TypeAlias = Literal[
    "message",
    "tool",
    "ask",
    "answer",
    "sql",
    "vault",
    "skill",
    "memory",
    "config",
    "access",
    "model",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""The kinds of rows, in the order of a turn."""


class Audit(Protocol):
    """A log in which changes are detectable. The plugin ``audit`` provides it."""

    def note(
        self,
        kind: Kind,
        object: str,  # noqa: A002
        verdict: str = "",
        *,
        detail: Mapping[str, Any] | None = None,
        ctx: Context | None = None,
        actor: str = "",
        approver: str = "",
    ) -> None:
        """Add a row. Returns at once, from any thread.

        Call it right before you write or act. The row is submitted to the store before this
        returns, so it is committed with the plugin's next write or earlier: after a crash there
        may be a row without its act, but never an act without its row.

        Args:
            kind: what the row is about.
            object: what was acted on: a tool, a database, a secret, a skill, a person, a setting.
            verdict: the result in one word: ``ran``, ``failed``, ``denied``, ``approved`` …
            detail: details as JSON: SQL literally, arguments as a digest; never a secret or a text
                from a chat.
            ctx: the turn it belongs to; without it, the turn whose tool is running.
            actor: who did it, as ``CHANNEL:USER``; without it, the person of the turn, or the one
                at the command line.
            approver: who allowed it, as ``CHANNEL:USER``.
        """

    async def session_deleted(self, session_id: str, channel: str, chat_id: str, by: str) -> None:
        """Record that a session was deleted.

        If it was the last session of its chat, the personal data in the chat's rows becomes
        unreadable.

        Args:
            by: who deleted it, as ``CHANNEL:USER``; empty for the person at the command line.
        """

    async def config_changed(self, actor: str, what: str) -> None:
        """Record a change of config.yaml. Does nothing if the file has not changed.

        Args:
            actor: who changed it, as ``CHANNEL:USER``; empty for the person at the command line.
            what: the changed key.
        """


def note(
    host: Host,
    kind: Kind,
    object: str,  # noqa: A002
    verdict: str = "",
    *,
    detail: Mapping[str, Any] | None = None,
    ctx: Context | None = None,
    actor: str = "",
    approver: str = "",
) -> None:
    """Add a row if the plugin ``audit`` is on; see :meth:`Audit.note`."""
    if (audit := host.services.get(Audit)) is not None:
        audit.note(kind, object, verdict, detail=detail, ctx=ctx, actor=actor, approver=approver)


async def session_deleted(
    host: Host, session_id: str, channel: str, chat_id: str, by: str = ""
) -> None:
    """Record that a session was deleted, if ``audit`` is on; see :meth:`Audit.session_deleted`."""
    if (audit := host.services.get(Audit)) is not None:
        await audit.session_deleted(session_id, channel, chat_id, by)


async def config_changed(host: Host, actor: str = "", what: str = "") -> None:
    """Record that config.yaml was written, if ``audit`` is on; see :meth:`Audit.config_changed`."""
    if (audit := host.services.get(Audit)) is not None:
        await audit.config_changed(actor, what)
