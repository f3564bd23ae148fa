"""Describes the signals that are not named after a hook, for the page about hooks."""

from __future__ import annotations

from typing import NamedTuple

from hookline_hookspecs import SIGNALS
from markdown_text import code, table

INTRO = """
## Signals

A signal is a notification after the fact; a receiver cannot change anything. Subscribe in `setup`
with `host.signals.connect(name, receiver)`; core disconnects it when the plugin stops. The receiver
is called as `receiver(event, ctx=ctx)`. A `def` runs at once, so it should be quick; an `async def`
runs in the background. If a receiver raises, the error is logged and the others are still called.

Every hook sends a signal of its name after all plugins were called, with the event as they left it:
after `post_tool` it is the result that the model reads. `on_message`, `pre_learn` and `pre_read`
send it only for events that passed; refused ones send `denied`. The signal is also sent if no
plugin implements the hook. Only `setup`, `teardown` and the `register_*` hooks have no signal.

Other signals:
"""


class Signal(NamedTuple):
    """The event of a signal, its ``ctx``, and when it is sent."""

    event: str
    ctx: str
    when: str


SIGNAL_EVENTS = {
    "delta": Signal("Delta", "the turn's", "for each piece of an answer that is streamed"),
    "notice": Signal("Notice", "the turn's", "when a plugin or core shows the person a sentence"),
    "reply_sent": Signal("Reply", "None", "when a reply was delivered"),
    "reply_delayed": Signal(
        "Reply", "None", "when a reply could not be delivered and will be tried again"
    ),
    "reply_failed": Signal("Reply", "None", "when a reply was given up; see `plugins list`"),
    "compacted": Signal("Compacted", "the turn's", "when a history was compacted"),
    "denied": Signal("Denial", "the turn's", "when the verdict of a guard hook was `Deny`"),
    "plugin_failed": Signal(
        "PluginFailure",
        "the turn's; None outside a turn",
        "when a hook failed; `off` if that switched the plugin off",
    ),
    "budget": Signal("", "", "when a daily limit of the plugin `budget` is near or reached"),
    "settled": Signal(
        "Inbound", "None", "when a channel's message needs no further work, answered or not"
    ),
    "resumed": Signal("", "", "when `/resume` went back to a session; carries the session's id"),
    "undone": Signal(
        "", "", "when `/undo` removed the turn `turn_id` of `session`; see the plugin `commands`"
    ),
    "question_opened": Signal(
        "StoredQuestion", "the turn's", "when a question was stored, before it is shown"
    ),
    "question_closed": Signal(
        "StoredQuestion", "None", "when a question was answered, stopped, expired or closed"
    ),
    "turn_parked": Signal(
        "Turn", "the turn's", "when a turn was given up until its question is answered"
    ),
    "remote_turn": Signal(
        "RemoteTurnEvent",
        "None",
        "for the progress of a turn in another process; see the plugin `cluster`",
    ),
}
"""A row for each of ``SIGNALS``; a test checks the names and the types."""


def section() -> str:
    """The section as Markdown. Raises ``KeyError`` for a signal that is not described."""
    rows = [(code(name), *_cells(SIGNAL_EVENTS[name])) for name in SIGNALS]
    return INTRO + "\n" + table(("signal", "event", "`ctx`", "when"), rows) + "\n"


def _cells(signal: Signal) -> tuple[str, str, str]:
    link = f"[{signal.event}](types.md#{signal.event})" if signal.event else ""
    return link, signal.ctx, signal.when
