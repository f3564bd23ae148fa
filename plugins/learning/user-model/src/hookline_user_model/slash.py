"""``/user``: shows what is known about a person in this chat, and changes it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime

from hookline_hookspecs import Context, Origin, Refused
from hookline_hookspecs.chat_files import Chat

from .config import UserModelConfig
from .curating import KIND
from .upkeep import Upkeep
from .userfile import Complaint
from .versions import Portraits, Source, Version

HELP = (
    "/user shows it · /user pin TEXT keeps a line for good · /user unpin TEXT · /user clear · "
    "/user history · /user restore N"
)
SHOWN = 80
"""Characters shown of a version."""


class Slash:
    """The command's answers."""

    def __init__(self, portraits: Portraits, config: UserModelConfig) -> None:
        self._upkeep = Upkeep(portraits, config.max_chars)
        self._portraits = portraits
        self._config = config

    async def run(self, ctx: Context, args: str) -> str:
        """Return the answer to ``/user ARGS``."""
        verb, _, rest = args.strip().partition(" ")
        verbs: Mapping[str, Callable[[Context, str], Awaitable[str]]] = {
            "": self._show,
            "pin": self._pin,
            "unpin": self._unpin,
            "clear": self._clear,
            "history": self._history,
            "restore": self._restore,
        }
        if (found := verbs.get(verb.casefold())) is None:
            return HELP
        try:
            return await found(ctx, rest.strip())
        except (Complaint, Refused) as error:
            return f"{error}."

    async def _show(self, ctx: Context, _rest: str) -> str:
        present = await self._portraits.present(Chat.of(ctx.session))
        if not present.text:
            return f"Nothing is known of you in this chat yet. {HELP}"
        limit = self._config.max_chars
        used = f"[{round(100 * len(present.text) / limit)} % of {limit:,} characters]"
        return f"Known of you in this chat {used}\n{present.text}"

    async def _pin(self, ctx: Context, text: str) -> str:
        if not text:
            return "Say what to keep: /user pin TEXT"
        source = Source.command(ctx, "pin")
        where = f"/user pin, session {source.session_id}"
        forwarded = ctx.turn.inbound.forwarded
        # The person's own words, whatever else the session has read.
        origins = (Origin("outside", f"forwarded from {forwarded}"),) if forwarded else ()
        learnt = await ctx.learn(" ".join(text.split()), where, KIND, origins=origins)
        return f"Pinned: {await self._upkeep.pin(Chat.of(ctx.session), source, learnt)}"

    async def _unpin(self, ctx: Context, text: str) -> str:
        chat, source = Chat.of(ctx.session), Source.command(ctx, "unpin")
        return f"Unpinned: {await self._upkeep.unpin(chat, source, text)}"

    async def _clear(self, ctx: Context, _rest: str) -> str:
        chat, source = Chat.of(ctx.session), Source.command(ctx, "clear")
        if not await self._upkeep.clear(chat, source):
            return "Nothing was known of you in this chat."
        return (
            "Cleared, pinned lines too. /user history shows what was there; restore brings it back."
        )

    async def _history(self, ctx: Context, _rest: str) -> str:
        past = await self._portraits.past(Chat.of(ctx.session))
        if not past:
            return "There is no history yet."
        return "\n".join([*map(_line, past), "/user restore N brings one back."])

    async def _restore(self, ctx: Context, number: str) -> str:
        if not number.isdecimal() or len(number) > 9:
            return "Say which: /user restore N, with a number of /user history"
        chat, source = Chat.of(ctx.session), Source.command(ctx, "restore")
        await self._upkeep.restore(chat, source, int(number))
        return f"Version {int(number)} is back."


def _line(version: Version) -> str:
    when = datetime.fromtimestamp(version.created).strftime("%Y-%m-%d %H:%M")
    flat = " ".join(version.text.split()) or "(empty)"
    shown = flat if len(flat) <= SHOWN else f"{flat[: SHOWN - 1]}…"
    return f"{version.version}. {when} · {version.origin} · {shown}"
