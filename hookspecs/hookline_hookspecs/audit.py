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

__all__ = ["KINDS", "Audit", "Kind", "approved", "config_changed", "note", "session_deleted"]

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
"""What rows are about, in the order of a turn."""


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
            verdict: what came of it, in a word: ``ran``, ``failed``, ``denied``, ``approved`` …
            detail: JSON with more of it; SQL literally, arguments as their digest, never a secret
                and nothing that was said in a chat.
            ctx: the turn it belongs to; without it, the turn whose tool is running.
            actor: who did it, as ``CHANNEL:USER``; without it, whose turn it is, or the person at
                the command line.
            approver: who allowed it, as ``CHANNEL:USER``.
        """

    async def session_deleted(self, session_id: str, channel: str, chat_id: str, by: str) -> None:
        """Note that a session is gone, by ``by`` (empty: the person at the command line). Of a chat
        that has none any more, what is personal in its rows cannot be read from then on."""

    async def config_changed(self, actor: str, what: str) -> None:
        """Note that config.yaml is another now, by ``actor`` as ``CHANNEL:USER`` (empty: the person
        at the command line), at the key ``what``. Does nothing if it is as it was."""

    def approved(self, session_id: str, approver: str) -> None:
        """Say who answers the open approval of a session, as ``CHANNEL:USER``, for its row."""


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
    """Tell the audit that a session was deleted; see :meth:`Audit.session_deleted`."""
    if (audit := host.services.get(Audit)) is not None:
        await audit.session_deleted(session_id, channel, chat_id, by)


async def config_changed(host: Host, actor: str = "", what: str = "") -> None:
    """Tell the audit that config.yaml was written; see :meth:`Audit.config_changed`."""
    if (audit := host.services.get(Audit)) is not None:
        await audit.config_changed(actor, what)


def approved(host: Host, session_id: str, approver: str) -> None:
    """Tell the audit who answers a session's open approval; see :meth:`Audit.approved`."""
    if (audit := host.services.get(Audit)) is not None:
        audit.approved(session_id, approver)
