"""The turns of the conversation since a checkpoint, and how they are removed."""

from __future__ import annotations

import asyncio
from typing import Literal, TypeAlias

from hookline_hookspecs import Context, Conversations, Question
from hookline_hookspecs.channels import TERMINAL

from .store import SavedSnapshot
from .texts import HASH_CHARS, clock

Scope: TypeAlias = Literal["files", "conversation", "both"]
BOTH = "Files and conversation"
FILES = "Files only"
CONVERSATION = "Conversation only"
CANCEL = "Cancel"
_SCOPES: dict[str, Scope] = {BOTH: "both", FILES: "files", CONVERSATION: "conversation"}
ANSWER_TIMEOUT = 280.0
"""Seconds; a little less than core waits for an answer."""
NOTHING = "Nothing was put back."
SCOPE_HINT = "/rewind {} files, conversation or both does it without a question."


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


async def ask_scope(ctx: Context, target: SavedSnapshot, turns: int) -> Scope | None:
    """Ask the person what to restore; None for nothing.

    If no one can be asked, it is the files. Only the terminal shows a question that is not an
    approval; closing it means nothing.
    """
    if not ctx.interactive or ctx.channel != TERMINAL:
        return "files"
    hash_ = target.commit[:HASH_CHARS]
    question = Question(
        f"Go back to {clock(target)}, before “{target.title}”: what?",
        (BOTH, FILES, CONVERSATION, CANCEL),
        preview=f"The conversation loses {_turns(turns)}; files can be restored again.\n"
        f"Without a question: /rewind {hash_} files, conversation or both",
    )
    try:
        async with asyncio.timeout(ANSWER_TIMEOUT):
            answer = await ctx.ask(question)
    except TimeoutError:
        return None
    return _SCOPES.get(answer or CANCEL)


async def undo_since(ctx: Context, turns: int) -> str:
    """Remove the last ``turns`` turns from the conversation; return a sentence about it."""
    conversations = ctx.host.services[Conversations]
    undone = 0
    while undone < turns and await conversations.undo(ctx) is not None:
        undone += 1
    if undone == turns:
        return f"Removed from the conversation: {_turns(undone)}."
    return (
        f"Removed from the conversation: {undone} of {turns} turns. Earlier ones are part of a "
        "summary and stay."
    )


def _turns(number: int) -> str:
    return "1 turn" if number == 1 else f"{number} turns"
