"""Who may switch a session's mode, and to what."""

from __future__ import annotations

import asyncio

from hookline_hookspecs import Access, CommandError, Context, Mode
from hookline_hookspecs.inbound import is_private_chat
from hookline_hookspecs.sentences import N_

FREEDOM: tuple[Mode, ...] = ("plan", "ask", "auto", "yolo")
"""From the strictest to the freest."""
CHOSEN: tuple[Mode, ...] = ("ask", "auto", "plan")
"""What a command or a setting may choose."""
MEANING = {
    "ask": N_("asks before every call that may change something"),
    "auto": N_("asks before risky or destructive calls"),
    "plan": N_("changes nothing; ends with a plan for you to accept"),
    "yolo": N_("never asks; every command runs in the sandbox"),
}
NOT_YOLO = N_(
    "yolo is chosen when Hookline starts, with `hookline chat --mode yolo` or `hookline run --mode "
    "yolo`; nothing was changed."
)
NOT_YOURS = N_(
    "Only an admin may make this conversation freer than it is; nothing was changed. A stricter "
    "mode is open to everybody who may give this command here."
)


def is_freer(wanted: Mode, than: Mode) -> bool:
    """True if ``wanted`` lets more pass."""
    return FREEDOM.index(wanted) > FREEDOM.index(than)


async def may_loosen(ctx: Context, wanted: Mode, default: Mode) -> bool:
    """True for the operator and for admins; for others, alone in their chat, up to the default."""
    if await is_trusted(ctx):
        return True
    return is_private_chat(ctx.turn.inbound) and not is_freer(wanted, default)


async def is_trusted(ctx: Context) -> bool:
    """True for the operator, on a channel of this machine, and for admins."""
    host, inbound = ctx.host, ctx.turn.inbound
    networked = [one.network for one in host.channels() if one.name == inbound.channel]
    if ctx.operator or (networked and not any(networked)):
        return True
    access = host.services.get(Access)
    return access is not None and await access.may_approve(inbound.channel, inbound.user_id)


async def require_sandbox() -> None:
    """Raises ``CommandError`` where no sandbox works."""
    from hookline_sandbox import Method, found

    here = await asyncio.to_thread(found)
    if here.method is Method.NONE:
        raise CommandError(
            f"the mode yolo works only inside the sandbox, and none can be made here: {here.why}; "
            f"{here.fix}, or choose --mode auto"
        )
