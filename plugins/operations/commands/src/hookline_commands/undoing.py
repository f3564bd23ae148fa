"""``/undo``: takes turns out of the conversation, and says by which command their files go back."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field

from hookline_hookspecs import Context, Conversations, Host, Session

SAID_CHARS = 60
"""Characters of a message by which a turn is named."""
OFFERED = 20
"""Turns that are offered while ``/undo`` is typed."""


@dataclass(frozen=True, slots=True)
class Undone:
    """The event of the signal ``undone``: ``/undo`` has removed a turn from its session.

    A receiver may append to ``notes`` an awaitable sentence that the answer ends with.
    """

    session: Session
    turn_id: str
    notes: list[Awaitable[str]] = field(default_factory=list)


async def undo(ctx: Context, args: str) -> str:
    """Return the answer to ``/undo ARGS``."""
    if args and not (args.isdecimal() and int(args[:9]) > 0):
        return "Write /undo for the last turn, or /undo and how many turns, such as /undo 3."
    wanted = int(args[:9]) if args else 1
    texts: list[str] = []
    note = ""
    while len(texts) < wanted and (found := await _undo_one(ctx)) is not None:
        texts.append(found[0])
        note = found[1] or note  # what brings back the files of the first brings back all
    if not texts:
        return "There is no turn to undo."
    return " ".join(filter(None, [_said(texts, wanted), note]))


async def offered(host: Host, session_id: str, typed: str) -> Sequence[tuple[str, str]]:
    """Return ``(number, words)`` of the session's last turns, the last one first."""
    rows = await host.storage.fetch("turns_said", id=session_id, limit=OFFERED)
    named = [(str(number), f"back to before “{_shortened(row['text'])}”")
             for number, row in enumerate(rows, 1)]  # fmt: skip
    return [pair for pair in named if pair[0].startswith(typed.strip())]


async def _undo_one(ctx: Context) -> tuple[str, str] | None:
    """Undo the last turn: what the person said, and a sentence about the turn's files."""
    host = ctx.host
    rows = await host.storage.fetch("last_turn", id=ctx.session.id)
    text = await host.services[Conversations].undo(ctx)
    if text is None:
        return None
    undone = Undone(ctx.session, rows[0]["turn_id"] if rows else "")
    host.signals.send("undone", undone)
    notes = [await note for note in undone.notes]
    return text, " ".join(filter(None, notes))


def _said(texts: Sequence[str], wanted: int) -> str:
    first = texts[-1].strip()
    which = f"“{_shortened(first)}”" if first else ""
    if wanted == 1:
        return f"The last turn{f' ({which})' if which else ''} is out of the conversation."
    turns = "The only turn is" if len(texts) == 1 else f"{len(texts)} turns are"
    begin = f", from {which} on" if which else ""
    more = f"; there were no {wanted}" if len(texts) < wanted else ""
    return f"{turns} out of the conversation{begin}{more}."


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SAID_CHARS else line[: SAID_CHARS - 1] + "…"
