"""The parts of the running agent, for the plugin's hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .feed import EditorFeed
    from .permission_requests import EditorQuestions
    from .sessions import OpenSessions
    from .unsaved_changes import UnsavedChanges


class EditorLink:
    """The parts of the running agent; None in a process that serves no editor."""

    feed: EditorFeed | None = None
    questions: EditorQuestions | None = None
    sessions: OpenSessions | None = None
    unsaved: UnsavedChanges | None = None
