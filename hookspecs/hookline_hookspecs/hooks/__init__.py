"""The hooks: one typed method for each, with its kind, deadline and meaning."""

from .boot import BootHooks
from .kinds import HOOKS, PROJECT, HookSpec, Kind, MaybeAwaitable, hookimpl
from .learning import LearningHooks
from .session import SessionHooks
from .turn import TurnHooks

SIGNALS = (
    "delta",
    "notice",
    "reply_sent",
    "reply_delayed",
    "reply_failed",
    "compacted",
    "denied",
    "plugin_failed",
    "budget",
    "settled",
    "resumed",
    "undone",
    "remote_turn",
    "question_opened",
    "question_closed",
    "turn_parked",
)
"""Signals in addition to those named after a hook. ``settled`` carries an ``Inbound`` that needs no
further work, whether or not there was a reply and whether or not it was delivered. The signals
about replies carry a ``Reply``: ``reply_delayed`` one whose delivery will be retried later,
``reply_failed`` one whose delivery was abandoned. ``resumed`` carries the id of a session that a
person went back to, ``undone`` the ``session`` and the ``turn_id`` of a turn that ``/undo``
removed, ``remote_turn`` a ``RemoteTurnEvent`` of a turn that another process runs,
``question_opened`` and ``question_closed`` a ``StoredQuestion``, ``turn_parked`` the ``Turn`` that
waits for an answer without a process."""


class HookSpecs(BootHooks, SessionHooks, TurnHooks, LearningHooks):
    """Every hook, for pluggy and type checkers."""


__all__ = [
    "HOOKS",
    "PROJECT",
    "SIGNALS",
    "HookSpec",
    "HookSpecs",
    "Kind",
    "MaybeAwaitable",
    "hookimpl",
]
