"""``/proposals``, ``/provenance`` and ``/trust``, for the operator and admins in a private chat."""

from __future__ import annotations

from pathlib import Path

from hookline_hookspecs import Context, HooklineError
from hookline_hookspecs.sentences import N_

from .proposals import CHOICES, Proposals
from .question_text import cleared, listed, listed_marks
from .trust import Trust
from .writes import Writes

HOW_TO_ANSWER = N_("/proposals accept ID runs one, /proposals reject ID discards it.")
MAX_LISTED = 50
"""Marked files in one answer."""


class ChatCommands:
    """One method for each command."""

    def __init__(self, proposals: Proposals, trust: Trust, writes: Writes) -> None:
        self._proposals = proposals
        self._trust = trust
        self._writes = writes

    async def provenance(self, ctx: Context, args: str) -> str:
        """``/provenance [clear PATH]``."""
        action, _, path = args.strip().partition(" ")
        if not action:
            found = await self._writes.listed()
            left = len(found) - MAX_LISTED
            more = f"\n{N_(f'… and {left} more.')}" if left > 0 else ""
            return listed_marks(found[:MAX_LISTED]) + more
        if action != "clear" or not path.strip():
            return N_("Write /provenance to see marked files, or /provenance clear PATH.")
        inbound = ctx.turn.inbound
        try:
            origins = await self._writes.clear(
                _place(ctx, path.strip()), f"{inbound.channel}:{inbound.user_id}"
            )
        except HooklineError as error:
            return f"{error}"
        return cleared(path.strip(), origins)

    async def proposals(self, ctx: Context, args: str) -> str:
        """``/proposals [accept ID | reject ID]``."""
        action, _, id_ = args.strip().partition(" ")
        inbound = ctx.turn.inbound
        by = (inbound.channel, inbound.user_id)
        try:
            if not action:
                found = await self._proposals.open()
                return listed(found) + (f"\n{HOW_TO_ANSWER}" if found else "")
            if action in CHOICES:
                answered = await self._proposals.answer(id_.strip(), CHOICES[action], by)
                return (
                    f"{N_('Done.')} {answered.outcome}" if action == "accept" else answered.outcome
                )
        except HooklineError as error:
            return f"{error}"
        return N_("Write /proposals, /proposals accept ID or /proposals reject ID.")

    async def trust(self, ctx: Context, args: str) -> str:
        """``/trust [add WHAT | remove WHAT]``."""
        action, _, what = args.strip().partition(" ")
        try:
            if not action:
                found = await self._trust.listed()
                return "\n".join(found) or N_(
                    "Nothing is trusted yet. To trust a host or a person: /trust add HOST, "
                    "/trust add CHANNEL:USER"
                )
            if action == "add" and what:
                inbound = ctx.turn.inbound
                name = await self._trust.add(what, f"{inbound.channel}:{inbound.user_id}")
                return N_(
                    f"{name} is trusted: what it says may be remembered, scheduled and followed."
                )
            if action == "remove" and what:
                removed = await self._trust.remove(what)
                if removed:
                    return N_(f"{what} is no longer trusted.")
                return N_(f"{what} was not trusted by a grant.")
        except HooklineError as error:
            return f"{error}"
        return N_("Write /trust, /trust add HOST (or telegram:222) or /trust remove WHAT.")


def _place(ctx: Context, path: str) -> Path:
    return ctx.paths.workspace / Path(path).expanduser()
