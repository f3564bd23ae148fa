"""Hooks for sessions and inbound messages."""

# Specs have no body, only a docstring.
# mypy: disable-error-code="empty-body"

from __future__ import annotations

from typing import TYPE_CHECKING

from .kinds import MaybeAwaitable, spec

if TYPE_CHECKING:
    from ..host import Context
    from ..inbound import Audio, Inbound
    from ..prompt import Section
    from ..turns import Session
    from ..verdicts import Deny


class SessionHooks:
    """A session's start and end, its stable prompt, and inbound messages."""

    @spec("observe", 10)
    def start_of_session(self, ctx: Context, session: Session) -> MaybeAwaitable[None]:
        """Before a session's first turn in this process; ``session.resumed`` is True if the session
        already existed."""

    @spec("collect", 10)
    def system_prompt(
        self, ctx: Context, session: Session
    ) -> MaybeAwaitable[Section | list[Section] | None]:
        """Once per session, when its stable prompt is assembled.

        Return sections for the slots of the prompt. Use ``pre_prompt`` for anything that changes
        over time: a section that changes would invalidate the provider's cache.
        """

    @spec("observe", 10)
    def end_of_session(self, ctx: Context, session: Session) -> MaybeAwaitable[None]:
        """When a session ends: by ``/new``, or because it was idle for too long or is too old."""

    @spec("guard", 10, rewrites=True)
    def on_message(self, ctx: Context, inbound: Inbound) -> MaybeAwaitable[Inbound | Deny | None]:
        """For every inbound message, once stored and before its turn: access, limits, rewriting.

        Return a changed message, ``Deny`` to refuse it (the reason is the reply; an empty reason
        refuses silently), or None to leave it unchanged. ``ctx.session`` is the session of the
        message; its id is empty, and nothing is stored, if there is none yet. A refused message
        begins none.
        """

    @spec("first", 120)
    def on_voice(self, ctx: Context, audio: Audio) -> MaybeAwaitable[str | None]:
        """For each voice message: return its transcript, which becomes the text of the message."""
