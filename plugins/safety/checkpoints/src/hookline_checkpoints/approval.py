"""The question before a rewind in a chat of a network channel, as before a tool that destroys."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from hookline_hookspecs import Context, Question, ToolCall

from . import texts
from .conversation import NOTHING, PATIENCE, Scope
from .store import Saved

ONCE, DENY = "Once", "Deny"
REASON = "it replaces and removes what was changed since then"
NOBODY = f"{NOTHING} Nobody could be asked whether it may be."
REFUSED = f"{NOTHING} It was not approved."


async def refusal(
    ctx: Context,
    target: Saved,
    within: str,
    scope: Scope,
    turns: int,
    changes: Mapping[str, int] | None,
) -> str:
    """Return why nothing may be put back, empty if it may.

    ``changes`` counts the files added, modified and deleted since, None where that is not known or
    files stay; ``turns`` leave the conversation unless ``scope`` is ``files``.
    """
    if ctx.approval == "yes":
        return ""
    hash_ = target.commit[: texts.HASH_CHARS]
    question = Question(
        f"Allow /rewind {hash_}? {REASON}",
        (ONCE, DENY),
        preview="\n".join(_told(target, within, scope, turns, changes)),
        kind="approval",
        call=ToolCall(hash_, "rewind", {"checkpoint": hash_, "scope": scope, "path": within}),
        reason=REASON,
    )
    try:
        async with asyncio.timeout(PATIENCE):
            answer = await ctx.ask(question)
    except TimeoutError:
        answer = None
    if answer == ONCE:
        return ""
    return NOBODY if answer is None else REFUSED


def _told(
    target: Saved, within: str, scope: Scope, turns: int, changes: Mapping[str, int] | None
) -> list[str]:
    """What would be done, a line each."""
    lines = []
    if scope != "conversation":
        folder = texts.name(str(target.folder))
        what = f"{texts.name(within)} in {folder}" if within else f"The files in {folder}"
        lines.append(f"{what} as of {texts.clock(target)}, before “{target.title}”.")
    if changes is not None:
        edits = changes["M"] + changes["T"]
        since = f"{changes['A']} added, {edits} changed, {changes['D']} deleted"
        lines.append(f"Since then in that folder: {since}.")
    if scope != "files" and turns:
        lines.append(f"Out of the conversation: {turns} turn{'s' * (turns != 1)}.")
    return lines
