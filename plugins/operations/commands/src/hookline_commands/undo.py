"""``/undo``: removes turns from the conversation, and names the command that restores files."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field

from hookline_hookspecs import Context, Conversations, Host, Session
from hookline_hookspecs.sentences import N_

MAX_QUOTE_CHARS = 60
"""Characters of a message that the reply quotes."""
MAX_OFFERED = 20
"""Turns that are offered as completions."""


@dataclass(frozen=True, slots=True)
class UndoneTurn:
    """The event of the signal ``undone``: ``/undo`` has removed a turn from its session.

    A receiver may append an awaitable sentence to ``notes``; the reply ends with it.
    """

    session: Session
    turn_id: str
    notes: list[Awaitable[str]] = field(default_factory=list)


async def undo(ctx: Context, args: str) -> str:
    """Run ``/undo ARGS`` and return the reply."""
    if args and not (args.isdecimal() and int(args[:9]) > 0):
        return N_("Write /undo for the last turn, or /undo N for the last N turns.")
    count = int(args[:9]) if args else 1
    texts: list[str] = []
    note = ""
    while len(texts) < count and (found := await _undo_one(ctx)) is not None:
        texts.append(found[0])
        note = found[1] or note  # restoring the files of the first turn restores all
    if not texts:
        return N_("No turn to undo.")
    return " ".join(filter(None, [_summary(texts, count), note]))


async def complete_turns(host: Host, session_id: str, typed: str) -> Sequence[tuple[str, str]]:
    """Return ``(number, description)`` for the session's last turns, newest first."""
    rows = await host.storage.fetch("turns_said", id=session_id, limit=MAX_OFFERED)
    named = [(str(number), N_(f"back to before “{_quote(row['text'])}”"))
             for number, row in enumerate(rows, 1)]  # fmt: skip
    return [pair for pair in named if pair[0].startswith(typed.strip())]


async def _undo_one(ctx: Context) -> tuple[str, str] | None:
    """Undo the last turn; return the person's message and a note about the turn's files."""
    host = ctx.host
    rows = await host.storage.fetch("last_turn", id=ctx.session.id)
    text = await host.services[Conversations].undo(ctx)
    if text is None:
        return None
    undone = UndoneTurn(ctx.session, rows[0]["turn_id"] if rows else "")
    host.signals.send("undone", undone)
    notes = [await note for note in undone.notes]
    return text, " ".join(filter(None, notes))


def _summary(texts: Sequence[str], count: int) -> str:
    first = _quote(texts[-1].strip())
    if count == 1 and not first:
        return N_("Removed the last turn from the conversation.")
    if count == 1:
        return N_(f"Removed the last turn (“{first}”) from the conversation.")
    if len(texts) == 1:
        return N_(f"Removed the only turn (“{first}”) from the conversation.")
    removed = N_(f"Removed {len(texts)} turns from the conversation, from “{first}” on.")
    fewer = N_(f"There were fewer than {count}.")
    return f"{removed} {fewer}" if len(texts) < count else removed


def _quote(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_QUOTE_CHARS else line[: MAX_QUOTE_CHARS - 1] + "…"
