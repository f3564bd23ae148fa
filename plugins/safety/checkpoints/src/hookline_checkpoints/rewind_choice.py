"""What a rewind restores: as the command says it, or asked of the person."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from hookline_hookspecs import Context, Question
from hookline_hookspecs.channels import TERMINAL

from . import texts
from .owned_plan import OwnedPlan
from .ownership import Owner
from .store import SavedSnapshot

Part: TypeAlias = Literal["files", "conversation", "history"]
BOTH = "Files and conversation"
FILES = "Files only"
CONVERSATION = "Conversation only"
EVERYTHING = "All files, also those not changed by the agent"
LEAVE = "Leave them as they are"
OVERWRITE = "Put them back too"
RESTORE_HISTORY = "Restore the history"
LEAVE_HISTORY = "Leave the history as it is"
CANCEL = "Cancel"
ANSWER_TIMEOUT = 280.0
"""Seconds; a little less than core waits for an answer."""

ALL_OWNERS: frozenset[Owner] = frozenset({"agent", "other", "both"})
AGENT_ONLY: frozenset[Owner] = frozenset({"agent"})
_FIRST_ANSWERS: Mapping[str, frozenset[Part]] = {
    BOTH: frozenset({"files", "conversation"}),
    FILES: frozenset({"files"}),
    EVERYTHING: frozenset({"files"}),
    CONVERSATION: frozenset({"conversation"}),
}


@dataclass(frozen=True, slots=True)
class RewindChoice:
    """What to restore, and whose changes of files to take back."""

    parts: frozenset[Part] = frozenset({"files"})
    owners: frozenset[Owner] = field(default=AGENT_ONLY)


@dataclass(frozen=True, slots=True)
class RewindOffer:
    """What could be restored: ``files`` that differ, ``turns`` of the conversation since, and a
    line for each change of the repositories' ``history`` that can be taken back. ``problem`` is why
    these cannot be told."""

    target: SavedSnapshot
    files: OwnedPlan
    turns: int
    history: Sequence[str] = ()
    problem: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to choose."""
        return not self.files.owners and not self.turns and not self.history


async def choose(ctx: Context, offer: RewindOffer) -> RewindChoice | None:
    """Ask the person what to restore; None for nothing.

    If no one can be asked, it is the agent's changes of files. Only the terminal shows a question
    that is not an approval; closing it means nothing.
    """
    if not ctx.interactive or ctx.channel != TERMINAL or offer.is_empty:
        return RewindChoice()
    try:
        async with asyncio.timeout(ANSWER_TIMEOUT):
            return await _ask_all(ctx, offer)
    except TimeoutError:
        return None


async def _ask_all(ctx: Context, offer: RewindOffer) -> RewindChoice | None:
    choice: RewindChoice | None = RewindChoice(frozenset())
    if offer.files.owners or offer.turns:
        choice = await _ask_parts(ctx, offer)
    conflicts = offer.files.paths("both")
    if choice and "files" in choice.parts and "both" not in choice.owners and conflicts:
        choice = await _ask_conflicts(ctx, choice, conflicts)
    if choice and offer.history and choice.parts != {"conversation"}:
        choice = await _ask_history(ctx, choice, offer.history)
    return choice


async def _ask_parts(ctx: Context, offer: RewindOffer) -> RewindChoice | None:
    target = offer.target
    choices = (BOTH, FILES, CONVERSATION) if offer.turns else (FILES,)
    if offer.files.paths("other") or offer.files.paths("both"):
        choices = (*choices, EVERYTHING)
    question = Question(
        f"Go back to {texts.clock(target)}, before “{target.title}”: what?",
        (*choices, CANCEL),
        preview=texts.offered(offer.target, offer.files, offer.turns),
    )
    answer = await ctx.ask(question) or CANCEL
    if answer not in _FIRST_ANSWERS:
        return None
    owners = ALL_OWNERS if answer == EVERYTHING else AGENT_ONLY
    return RewindChoice(_FIRST_ANSWERS[answer], owners)


async def _ask_conflicts(
    ctx: Context, choice: RewindChoice, conflicts: Mapping[str, str]
) -> RewindChoice | None:
    question = Question(
        "These files were changed by the agent and by someone else. Put them back too?",
        (LEAVE, OVERWRITE, CANCEL),
        preview="\n".join(texts.signed(conflicts)),
    )
    answer = await ctx.ask(question)
    if answer == OVERWRITE:
        return replace(choice, owners=choice.owners | {"both"})
    return choice if answer == LEAVE else None


async def _ask_history(
    ctx: Context, choice: RewindChoice, history: Sequence[str]
) -> RewindChoice | None:
    question = Question(
        "The history of the repository has changed since. Restore it?",
        (RESTORE_HISTORY, LEAVE_HISTORY, CANCEL),
        preview="\n".join((*history, texts.NO_COMMIT_IS_LOST)),
    )
    answer = await ctx.ask(question)
    if answer == RESTORE_HISTORY:
        return replace(choice, parts=choice.parts | {"history"})
    return choice if answer == LEAVE_HISTORY else None
