"""The hooks: one typed method for each, with its kind, deadline and meaning."""

# fmt: off
# ruff: isort: off
from .boot import BootHooks
from .kinds import GUARDS, HOOKS, PROJECT, HookSpec, Kind, MaybeAwaitable, hookimpl
from .learning import LearningHooks
from .session import SessionHooks
from .turn import TurnHooks

SIGNALS = (
    "delta", "notice", "reply_sent", "reply_delayed", "reply_failed", "compacted", "denied",
    "plugin_failed", "budget", "settled",
)
"""Signals beside those that carry a hook's name. ``settled`` carries an ``Inbound`` that needs no
further work, whether or not there was a reply, and whether or not that was delivered. The others
of a reply always carry a ``Reply``: ``reply_delayed`` one that will be tried again later,
``reply_failed`` one that was given up."""


class HookSpecs(BootHooks, SessionHooks, TurnHooks, LearningHooks):
    """Every hook, as pluggy and type checkers see it."""


__all__ = [
    "GUARDS", "HOOKS", "PROJECT", "SIGNALS", "HookSpec", "HookSpecs", "Kind", "MaybeAwaitable",
    "hookimpl",
]
# fmt: on
