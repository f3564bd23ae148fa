"""Reads and rewrites the history of a session.

Stored messages are never changed. A rewrite is stored separately; it says which messages are
replaced when the history is sent.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from hookline_hookspecs import Compacted, ImageBlock, Message, Rewrite, TextBlock, crash
from hookline_hookspecs.origins import merge_origins

from .. import clock
from ..engine import Engine
from ..store.codec import UNREADABLE, readable, stored_message
from ..store.journal import Journal, Statement
from .state import ActiveTurn, HistoryEntry, SessionState, refresh_version


async def read_history(journal: Journal, state: SessionState) -> None:
    """Read the state's history from the store."""
    for item in await journal.messages(state.record.id):
        message = stored_message(item)
        state.history.append(HistoryEntry(item["seq"], item["turn_id"], message))
        state.next_seq = item["seq"] + 1
    for row in await journal.rewrites(state.record.id):
        readable(
            f"a rewrite of session {state.record.id}",
            partial(_apply_rewrite, state.history, row),
            None,
        )
    damaged = {entry.turn_id for entry in state.history if UNREADABLE in entry.message.blocks}
    for entry in state.history:
        if entry.turn_id in damaged:  # calls and results can only be sent in pairs
            kept = tuple(b for b in entry.message.blocks if isinstance(b, (TextBlock, ImageBlock)))
            entry.message = replace(entry.message, blocks=kept or (UNREADABLE,))


@dataclass(frozen=True, slots=True)
class CachedMessages:
    """The stored messages of the session that was read last, without sidecars.

    The plugins that take part in a review read the same messages one after another, and the next
    review reads those added since. Only the last turn of a history can be removed, so the messages
    are unchanged while the row of the ``last`` one is unchanged.
    """

    session_id: str = ""
    messages: tuple[Message, ...] = ()
    last: tuple[Any, ...] = (0,)

    async def read(self, journal: Journal, session_id: str) -> CachedMessages:
        """Read a session's messages; of cached ones, only the last is read again."""
        known = self if self.session_id == session_id else CachedMessages()
        rows = await journal.messages(session_id, known.last[0])
        if known.messages and (not rows or _row_key(rows[0]) != known.last):
            return await CachedMessages().read(journal, session_id)
        new = rows[1:] if known.messages else rows
        added = await asyncio.to_thread(
            lambda: [replace(stored_message(row), context="") for row in new]
        )
        return CachedMessages(
            session_id, (*known.messages, *added), _row_key(rows[-1]) if rows else (0,)
        )


def _row_key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["seq"], row["turn_id"], row["created"]


def _apply_rewrite(history: list[HistoryEntry], row: Mapping[str, Any]) -> None:
    inside = [n for n, e in enumerate(history) if row["first"] <= e.seq <= row["last"]]
    if inside:
        bodies = [Message.from_dict(body, "") for body in json.loads(row["bodies"])]
        history[inside[0] : inside[-1] + 1] = _number_entries(row["first"], row["turn_id"], bodies)


def _number_entries(first: int, turn_id: str, messages: Sequence[Message]) -> list[HistoryEntry]:
    return [HistoryEntry(first + n, turn_id, message) for n, message in enumerate(messages)]


def drop_expired_context(state: SessionState) -> list[Statement]:
    """Drop the context blocks of earlier turns if the provider's cache has expired.

    Returns the statements that drop them in the store.
    """
    if clock.now() <= state.warm_until or not state.history:
        return []
    state.cache.prefix.clear()
    _drop_context(state, "")
    return [("drop_sidecars", {"session_id": state.record.id, "turn_id": ""})]


def _drop_context(state: SessionState, except_turn: str) -> None:
    for entry in state.history:
        if entry.message.context and entry.turn_id != except_turn:
            entry.message = replace(entry.message, context="")


async def rewrite(
    engine: Engine,
    state: SessionState,
    turn: ActiveTurn | None,
    changes: Sequence[Rewrite],
    ctx: object,
) -> tuple[Message, ...]:
    """Replace parts of the history permanently (see ``Context.rewrite``); hooks receive ``ctx``.

    Raises:
        ValueError: a part may not be replaced in this way.
    """
    _check_rewrites(changes, state, turn.user_entry if turn is not None else None)
    await engine.bus.observe("pre_compact", ctx, state.record)
    before = len(state.history)
    history, rows = list(state.history), []
    for change in sorted(changes, key=lambda one: one.start, reverse=True):
        old = history[change.start : change.stop]
        turns = {entry.turn_id for entry in old}
        turn_id = turns.pop() if len(turns) == 1 else ""
        first, last = old[0].seq, _last_seq(history, change.stop, state)
        # A summary inherits the origins of the messages that it replaces.
        origins = merge_origins(*[entry.message.origins for entry in old])
        head = change.messages[0]
        carried = merge_origins(head.carried, origins)
        messages = (replace(head, carried=carried), *change.messages[1:])
        bodies = json.dumps([m.to_dict() for m in messages], ensure_ascii=False)
        rows.append({"first": first, "last": last, "turn_id": turn_id, "bodies": bodies})
        history[change.start : change.stop] = _number_entries(first, turn_id, messages)
    if turn is not None:
        await turn.flush()
    crash.point("mid-compaction")
    turn_id = turn.id if turn is not None else ""
    # The store commits a submitted write even if the caller is cancelled while awaiting it.
    written = engine.journal.rewrite(state.record.id, rows, turn_id)
    state.history = history
    _drop_context(state, turn_id)
    state.cache.prefix.clear()
    if turn is not None:
        turn.entries = [entry for entry in history if entry.turn_id == turn_id]
    await written
    if turn is None:
        await refresh_version(engine.journal, state)
    engine.bus.signals.send("compacted", Compacted(state.record, before, len(history)), ctx)
    return state.messages()


def _last_seq(history: Sequence[HistoryEntry], stop: int, state: SessionState) -> int:
    """The sequence number of the last message that is replaced."""
    return (history[stop].seq if stop < len(history) else state.next_seq) - 1


def _check_rewrites(
    changes: Sequence[Rewrite], state: SessionState, user_entry: HistoryEntry | None
) -> None:
    previous_stop = 0
    for change in sorted(changes, key=lambda one: one.start):
        if not previous_stop <= change.start < change.stop <= len(state.history):
            raise ValueError(
                f"messages {change.start} to {change.stop} cannot be replaced: the history has "
                f"{len(state.history)}, and no two parts may overlap"
            )
        previous_stop = change.stop
        old = state.history[change.start : change.stop]
        if not 0 < len(change.messages) <= len(old):
            raise ValueError(f"{len(old)} messages cannot become {len(change.messages)}")
        if any(entry is user_entry for entry in old):
            raise ValueError("the running turn's own user message cannot be replaced")
