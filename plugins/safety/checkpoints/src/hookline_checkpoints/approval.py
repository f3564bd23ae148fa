"""The approval of a rewind in a chat on a network channel."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from hookline_hookspecs import Context, Question, ToolCall

from . import texts
from .conversation import ANSWER_TIMEOUT, NOTHING, Scope
from .store import SavedSnapshot

ONCE, DENY = "Once", "Deny"
REASON = "it replaces and removes what was changed since then"
NOBODY = f"{NOTHING} No one could be asked for approval."
REFUSED = f"{NOTHING} It was not approved."


async def refusal(
    ctx: Context,
    target: SavedSnapshot,
    within: str,
    scope: Scope,
    turns: int,
    changes: Mapping[str, int] | None,
) -> str:
    """Return why nothing may be restored, or an empty text.

    ``changes`` counts the files added, modified and deleted since, None if unknown or if files are
    not restored; ``turns`` are removed from the conversation unless ``scope`` is ``files``.
    """
    if ctx.approval == "yes":
        return ""
    hash_ = target.commit[: texts.HASH_CHARS]
    question = Question(
        f"Allow /rewind {hash_}? {REASON}",
        (ONCE, DENY),
        preview="\n".join(_preview_lines(target, within, scope, turns, changes)),
        kind="approval",
        call=ToolCall(hash_, "rewind", {"checkpoint": hash_, "scope": scope, "path": within}),
        reason=REASON,
    )
    try:
        async with asyncio.timeout(ANSWER_TIMEOUT):
            answer = await ctx.ask(question)
    except TimeoutError:
        answer = None
    if answer == ONCE:
        return ""
    return NOBODY if answer is None else REFUSED


def _preview_lines(
    target: SavedSnapshot, within: str, scope: Scope, turns: int, changes: Mapping[str, int] | None
) -> list[str]:
    """Return what would be done, one line each."""
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
        lines.append(f"Removed from the conversation: {turns} turn{'s' * (turns != 1)}.")
    return lines
