"""The approval of a rewind in a chat on a network channel."""

from __future__ import annotations

import asyncio

from hookline_hookspecs import Context, Question, ToolCall
from hookline_hookspecs.questions import ALLOW_ONCE, DENY

from . import texts
from .rewind_choice import ALL_OWNERS, ANSWER_TIMEOUT, RewindChoice, RewindOffer

REASON = "it replaces and removes what was changed since then"
NOBODY = f"{texts.NOTHING} No one could be asked for approval."
REFUSED = f"{texts.NOTHING} It was not approved."


async def refusal(ctx: Context, offer: RewindOffer, within: str, choice: RewindChoice) -> str:
    """Return why nothing may be restored, or an empty text."""
    if ctx.approval == "yes":
        return ""
    hash_ = offer.target.commit[: texts.HASH_CHARS]
    asked = {"checkpoint": hash_, "restore": sorted(choice.parts), "path": within}
    question = Question(
        f"Allow /rewind {hash_}? {REASON}",
        (ALLOW_ONCE, DENY),
        preview="\n".join(_preview_lines(offer, within, choice)),
        kind="approval",
        call=ToolCall(hash_, "rewind", asked),
        reason=REASON,
    )
    try:
        async with asyncio.timeout(ANSWER_TIMEOUT):
            answer = await ctx.ask(question)
    except TimeoutError:
        answer = None
    if answer == ALLOW_ONCE:
        return ""
    return NOBODY if answer is None else REFUSED


def _preview_lines(offer: RewindOffer, within: str, choice: RewindChoice) -> list[str]:
    """Return what would be done."""
    target, lines = offer.target, []
    if "files" in choice.parts:
        folder = texts.name(str(target.folder))
        what = f"{texts.name(within)} in {folder}" if within else f"The files in {folder}"
        lines.append(f"{what} as of {texts.clock(target)}, before “{target.title}”.")
        signs = {
            path: sign for owner in ALL_OWNERS for path, sign in offer.files.paths(owner).items()
        }
        left = offer.files.left(choice.owners, within)
        put_back = {path: signs[path] for path in sorted(signs.keys() - left.keys())}
        lines += ["Put back:", *texts.signed(put_back)]
        if left:
            stays = {path: signs[path] for path in sorted(left)}
            lines += ["Left, because not only the agent changed it:", *texts.signed(stays)]
    if "history" in choice.parts:
        lines += ["The history of the repository:", *offer.history, texts.NO_COMMIT_IS_LOST]
    if "conversation" in choice.parts and offer.turns:
        removed = texts.counted(offer.turns, "turn")
        lines.append(f"Removed from the conversation: {removed}.")
    return lines
