"""Hooks for learning, reading, compaction and errors."""

# Specs have no body, only a docstring.
# mypy: disable-error-code="empty-body"

from __future__ import annotations

from typing import TYPE_CHECKING

from .kinds import MaybeAwaitable, spec

if TYPE_CHECKING:
    from ..host import Context
    from ..learning import Excerpt, Lesson
    from ..steps import Failure
    from ..turns import Session
    from ..verdicts import Deny


class LearningHooks:
    """The guards for what is remembered and read, and the hooks for compaction and errors."""

    @spec("guard", 30, rewrites=True)
    def pre_learn(self, ctx: Context, lesson: Lesson) -> MaybeAwaitable[Lesson | Deny | None]:
        """Once for each note, fact, user model entry or skill, before it is remembered."""

    @spec("guard", 10, rewrites=True)
    def pre_read(self, ctx: Context, excerpt: Excerpt) -> MaybeAwaitable[Excerpt | Deny | None]:
        """Before a model reads a file, hint, skill, reference or web page (``host.read``)."""

    @spec("observe", 120)
    def pre_compact(self, ctx: Context, session: Session) -> MaybeAwaitable[None]:
        """Before a session's history is compacted, while all of it can still be read."""

    @spec("observe", 10)
    def on_error(self, ctx: Context, error: Failure) -> MaybeAwaitable[None]:
        """When a turn fails with a provider error or an internal error."""
