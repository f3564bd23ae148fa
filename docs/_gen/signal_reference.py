"""The signals that carry no hook's name, for the page of hooks: what they carry, and when."""

from __future__ import annotations

from typing import NamedTuple

from hookline_hookspecs import SIGNALS
from markdown_text import code, table

INTRO = """
## Signals

A signal tells, afterwards; nothing can be changed. Subscribe in `setup` with
`host.signals.connect(name, receiver)`; core takes it back when the plugin goes. The receiver is
called as `receiver(event, ctx=ctx)`: a `def` at once, so let it be quick; an `async def` beside
what goes on. One that raises is logged, and the others still hear.

Every hook sends the signal of its name when all plugins have been asked, with the event as they
left it: after `post_tool` it is the result that the model reads. `on_message`, `pre_learn` and
`pre_read` send it only for what has passed; for the rest there is `denied`. It is also sent where
no plugin implements the hook. Only `setup`, `teardown` and the `register_*` hooks have no signal.

These are sent besides:
"""


class Signal(NamedTuple):
    """What a signal carries, ``ctx`` or not, and when it is sent."""

    event: str
    ctx: str
    when: str


TOLD = {
    "delta": Signal("Delta", "the turn's", "for each piece of an answer that is streamed"),
    "notice": Signal("Notice", "the turn's", "when a plugin or core tells the person a sentence"),
    "reply_sent": Signal("Reply", "None", "when a reply has been delivered"),
    "reply_delayed": Signal(
        "Reply", "None", "when a reply could not be delivered and will be tried again"
    ),
    "reply_failed": Signal("Reply", "None", "when a reply was given up; see `plugins list`"),
    "compacted": Signal("Compacted", "the turn's", "when a history has been shortened"),
    "denied": Signal("Denial", "the turn's", "when a guard has ended in a `Deny`"),
    "plugin_failed": Signal(
        "PluginFailure",
        "the turn's; None outside of one",
        "when a hook has failed; `off` if the plugin was switched off for it",
    ),
    "budget": Signal("", "", "the plugin `budget` says that a limit of the day is near or reached"),
    "settled": Signal(
        "Inbound", "None", "when a channel's message needs no further work, answered or not"
    ),
    "resumed": Signal("", "", "`/resume` has gone back to the session whose id it carries"),
    "undone": Signal(
        "", "", "`/undo` has removed the turn `turn_id` of `session`; see the plugin `commands`"
    ),
    "remote_turn": Signal(
        "RemoteTurnEvent",
        "None",
        "for what a turn in another process shows; see the plugin `cluster`",
    ),
}
"""A line for each of ``SIGNALS``; a test holds that there is one, and that the types are right."""


def section() -> str:
    """The section as Markdown. Raises ``KeyError`` for a signal that nothing is known of."""
    rows = [(code(name), *_cells(TOLD[name])) for name in SIGNALS]
    return INTRO + "\n" + table(("signal", "event", "`ctx`", "when"), rows) + "\n"


def _cells(signal: Signal) -> tuple[str, str, str]:
    link = f"[{signal.event}](types.md#{signal.event})" if signal.event else ""
    return link, signal.ctx, signal.when
