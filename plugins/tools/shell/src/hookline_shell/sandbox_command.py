"""The command ``/sandbox``: one chat can be made stricter than the settings, never freer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from hookline_hookspecs import Context
from hookline_hookspecs.sentences import N_
from hookline_sandbox import Method, found

from .offline_chats import waiting_id

if TYPE_CHECKING:
    from .plugin import Shell

NOW_OFFLINE = N_(
    "From now on the commands of this chat reach no network and never leave the sandbox. Those "
    "that were running in it have ended. Other tools, such as those that read web pages, still do."
)
IS_OFFLINE = N_(
    "The commands of this chat reach no network and never leave the sandbox. "
    "/sandbox default ends that."
)
IS_DEFAULT = N_(
    "The sandbox of this chat is as it is set for all chats. /sandbox no-network tightens it."
)
NOW_DEFAULT = N_("The sandbox of this chat is again as it is set for all chats.")


async def answer(shell: Shell, ctx: Context, wanted: str) -> str:
    """Show or change the sandbox of a chat, and return the sentence for its person."""
    inbound = ctx.turn.inbound
    here = ctx.session.id or inbound.session_id or waiting_id(inbound.channel, inbound.chat_id)
    if not wanted:
        return IS_OFFLINE if await shell.is_offline(here) else IS_DEFAULT
    if wanted == "default":
        await shell.put_offline(here, offline=False)
        return NOW_DEFAULT
    if wanted != "no-network":
        return N_(f"There is no sandbox {wanted[:20]!r}; choose no-network or default.")
    machine = await asyncio.to_thread(found)
    if machine.method is Method.NONE:
        return N_(f"No sandbox works here: {machine.why}; {machine.fix}.")
    await shell.put_offline(here, offline=True)
    return NOW_OFFLINE
