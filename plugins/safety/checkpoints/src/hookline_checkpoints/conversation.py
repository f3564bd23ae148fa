"""The conversation of a checkpoint: the turns since then, and taking them out when asked."""

from __future__ import annotations

import asyncio
from typing import Literal, TypeAlias

from hookline_hookspecs import Context, Conversations, Question
from hookline_hookspecs.channels import TERMINAL

from .store import Saved
from .texts import HASH_CHARS, clock

Scope: TypeAlias = Literal["files", "conversation", "both"]
BOTH, FILES, CONVERSATION, CANCEL = (
    "Files and conversation",
    "Files only",
    "Conversation only",
    "Cancel",
)
_SCOPES: dict[str, Scope] = {BOTH: "both", FILES: "files", CONVERSATION: "conversation"}
PATIENCE = 280.0
"""Seconds for an answer; a little less than core waits for one."""
NOTHING = "Nothing was put back."
HOW = "/rewind {} files, conversation or both does it without a question."


async def turns_since(ctx: Context, target: Saved) -> int:
    """Return how many turns of this session began at the checkpoint or later; 0 if it is of
    another session, or its turn is no longer in the conversation."""
    if target.about.get("session") != ctx.session.id:
        return 0
    rows = await ctx.host.storage.fetch("turns", id=ctx.session.id)
    ids = [row["turn_id"] for row in rows]
    turn = target.about.get("turn", "")
    return len(ids) - ids.index(turn) if turn in ids else 0


async def wanted(ctx: Context, target: Saved, turns: int) -> Scope | None:
    """Return what the person wants back, None for nothing.

    Where nobody can be asked it is the files: the command has named them. Only the terminal shows a
    question that is no approval; one that was closed there is no yes.
    """
    if not ctx.interactive or ctx.channel != TERMINAL:
        return "files"
    hash_ = target.commit[:HASH_CHARS]
    question = Question(
        f"Go back to {clock(target)}, before “{target.title}”: what?",
        (BOTH, FILES, CONVERSATION, CANCEL),
        preview=f"The conversation loses {_turns(turns)}; files can be had again.\n"
        f"Without a question: /rewind {hash_} files, conversation or both",
    )
    try:
        async with asyncio.timeout(PATIENCE):
            answer = await ctx.ask(question)
    except TimeoutError:
        return None
    return _SCOPES.get(answer or CANCEL)


async def undo_since(ctx: Context, turns: int) -> str:
    """Take the last ``turns`` turns out of the conversation; return the sentence that says so."""
    conversations = ctx.host.services[Conversations]
    undone = 0
    while undone < turns and await conversations.undo(ctx) is not None:
        undone += 1
    if undone == turns:
        return f"Out of the conversation: {_turns(undone)}."
    return (
        f"Out of the conversation: {undone} of {turns} turns. What was said before that is part of "
        "a summary and stays."
    )


def _turns(number: int) -> str:
    return "1 turn" if number == 1 else f"{number} turns"
