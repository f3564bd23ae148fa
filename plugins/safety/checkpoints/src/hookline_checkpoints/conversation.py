"""The turns of the conversation since a checkpoint, and how they are removed."""

from __future__ import annotations

from hookline_hookspecs import Context, Conversations

from .store import SavedSnapshot
from .texts import counted


async def turns_since(ctx: Context, target: SavedSnapshot) -> int:
    """Return how many turns of this session started at the checkpoint or later.

    It is 0 if the checkpoint is of another session or its turn is no longer in the conversation.
    """
    if target.about.get("session") != ctx.session.id:
        return 0
    rows = await ctx.host.storage.fetch("turns", id=ctx.session.id)
    ids = [row["turn_id"] for row in rows]
    turn = target.about.get("turn", "")
    return len(ids) - ids.index(turn) if turn in ids else 0


async def undo_since(ctx: Context, turns: int) -> str:
    """Remove the last ``turns`` turns from the conversation; return a sentence about it."""
    conversations = ctx.host.services[Conversations]
    undone = 0
    while undone < turns and await conversations.undo(ctx) is not None:
        undone += 1
    if undone == turns:
        return f"Removed from the conversation: {counted(undone, 'turn')}."
    return (
        f"Removed from the conversation: {undone} of {turns} turns. Earlier ones are part of a "
        "summary and stay."
    )
