"""What is done to a history besides adding to it: read, rewritten, and forgotten in part.

The messages of the store are never changed. A rewrite lies beside them: it says which of them are
sent as what.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Compacted, Message, Rewrite, crash

from .. import clock
from ..sessions.state import Entry

if TYPE_CHECKING:
    from ..sessions.context import TurnContext
    from ..sessions.state import SessionState
    from ..store.journal import Journal, Statement


async def read_history(journal: Journal, state: SessionState) -> None:
    """Fill the state's history from the store."""
    for item in await journal.messages(state.record.id):
        message = Message.from_dict(json.loads(item["body"]), item["context"] or "")
        state.history.append(Entry(item["seq"], item["turn_id"], message))
        state.next_seq = item["seq"] + 1
    for row in await journal.rewrites(state.record.id):
        _apply(state.history, row)


def _apply(history: list[Entry], row: Mapping[str, Any]) -> None:
    inside = [n for n, e in enumerate(history) if row["first"] <= e.seq <= row["last"]]
    if inside:
        bodies = [Message.from_dict(body, "") for body in json.loads(row["bodies"])]
        history[inside[0] : inside[-1] + 1] = _numbered(row["first"], row["turn_id"], bodies)


def _numbered(first: int, turn_id: str, messages: Sequence[Message]) -> list[Entry]:
    return [Entry(first + n, turn_id, message) for n, message in enumerate(messages)]


def forget_cold_context(state: SessionState) -> list[Statement]:
    """Drop the context blocks of earlier turns where the provider no longer holds them.

    Returns what does the same in the store.
    """
    if clock.now() <= state.warm_until or not state.history:
        return []
    state.prefix.clear()
    _forget_context(state, "")
    return [("drop_sidecars", {"session_id": state.record.id, "turn_id": ""})]


def _forget_context(state: SessionState, but_turn: str) -> None:
    for entry in state.history:
        if entry.message.context and entry.turn_id != but_turn:
            entry.message = replace(entry.message, context="")


async def rewrite(ctx: TurnContext, changes: Sequence[Rewrite]) -> tuple[Message, ...]:
    """Replace parts of the history for good (see ``Context.rewrite``).

    Raises:
        ValueError: a part that may not be replaced so.
    """
    state, runtime, running = ctx.state, ctx.runtime, ctx.running
    _check(changes, state, running.user_entry if running is not None else None)
    await runtime.bus.observe("pre_compact", ctx, state.record)
    before = len(state.history)
    history, rows = list(state.history), []
    for change in sorted(changes, key=lambda one: one.start, reverse=True):
        old = history[change.start : change.stop]
        turns = {entry.turn_id for entry in old}
        turn_id = turns.pop() if len(turns) == 1 else ""
        first, last = old[0].seq, _last_seq(history, change.stop, state)
        bodies = json.dumps([m.to_dict() for m in change.messages], ensure_ascii=False)
        rows.append({"first": first, "last": last, "turn_id": turn_id, "bodies": bodies})
        history[change.start : change.stop] = _numbered(first, turn_id, change.messages)
    if running is not None:
        await running.settle()
    crash.point("mid-compaction")
    turn_id = running.id if running is not None else ""
    # Handed over, it happens, even if whoever waits here is cancelled.
    written = runtime.journal.rewrite(state.record.id, rows, turn_id)
    state.history = history
    _forget_context(state, turn_id)
    state.prefix.clear()
    if running is not None:
        running.entries = [entry for entry in history if entry.turn_id == turn_id]
    await written
    if running is None:
        await runtime.sessions.touched(state)
    runtime.bus.signals.send("compacted", Compacted(state.record, before, len(history)), ctx)
    return state.messages()


def _last_seq(history: Sequence[Entry], stop: int, state: SessionState) -> int:
    """The last stored message that is replaced: up to the next one that stays."""
    return (history[stop].seq if stop < len(history) else state.next_seq) - 1


def _check(changes: Sequence[Rewrite], state: SessionState, kept: Entry | None) -> None:
    reached = 0
    for change in sorted(changes, key=lambda one: one.start):
        if not reached <= change.start < change.stop <= len(state.history):
            raise ValueError(
                f"messages {change.start} to {change.stop} cannot be replaced: the history has "
                f"{len(state.history)}, and no two parts may overlap"
            )
        old, reached = state.history[change.start : change.stop], change.stop
        if not 0 < len(change.messages) <= len(old):
            raise ValueError(f"{len(old)} messages cannot become {len(change.messages)}")
        if any(entry is kept for entry in old):
            raise ValueError("the running turn's own user message has to stay")
