"""``/user``: shows what is known about a person in this chat, and changes it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime

from hookline_chatfiles import Chat, storable
from hookline_hookspecs import Context, Host, Origin, Refused

from .config import UserModelConfig
from .curating import KIND
from .portrait import PIN, joined, lines, pin
from .userfile import Complaint
from .versions import Portraits, Present, Source, Version

HELP = (
    "/user shows it · /user pin TEXT keeps a line for good · /user unpin TEXT · /user clear · "
    "/user history · /user restore N"
)
PINNED_SHARE = 0.5
"""The share of the characters that pinned lines may take."""
SHOWN = 80
"""Characters shown of a version."""


class Slash:
    """The command's answers."""

    def __init__(self, host: Host, portraits: Portraits, config: UserModelConfig) -> None:
        self._host = host
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
        flat = " ".join(text.split())
        line = pin(storable(await ctx.learn(flat, where, KIND, origins=origins)))
        room = int(self._config.max_chars * PINNED_SHARE)

        def make(present: Present, _past: Sequence[Version]) -> str:
            if line in present.portrait.pinned:
                return present.text
            pinned = [*present.portrait.pinned, line]
            if len(joined(pinned)) > room:
                raise Complaint(
                    f"pinned lines may have {room:,} characters in all; unpin one, or say it in "
                    f"fewer words"
                )
            rest = [one for one in lines(present.text) if one not in present.portrait.pinned]
            return joined([*pinned, *rest])

        await self._portraits.change(Chat.of(ctx.session), source, make)
        return f"Pinned: {line.removeprefix(PIN)}"

    async def _unpin(self, ctx: Context, text: str) -> str:
        wanted = " ".join(text.split()).casefold()
        removed: list[str] = []

        def make(present: Present, _past: Sequence[Version]) -> str:
            found = [one for one in present.portrait.pinned if wanted and wanted in one.casefold()]
            if len(found) != 1:
                raise Complaint(f"{len(found)} pinned lines hold that; give the words of one")
            removed[:] = found
            return joined([one for one in lines(present.text) if one != found[0]])

        source = Source.command(ctx, "unpin")
        await self._portraits.change(Chat.of(ctx.session), source, make)
        return f"Unpinned: {removed[0].removeprefix(PIN)}"

    async def _clear(self, ctx: Context, _rest: str) -> str:
        chat, source = Chat.of(ctx.session), Source.command(ctx, "clear")
        before: list[str] = []

        def make(present: Present, _past: Sequence[Version]) -> str:
            before.append(present.text)
            return ""

        await self._portraits.change(chat, source, make)
        if not before[0]:
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
        wanted = int(number)

        def make(_present: Present, past: Sequence[Version]) -> str:
            found = next((one for one in past if one.version == wanted), None)
            if found is None:
                raise Complaint(
                    f"there is no version {wanted}; /user history shows those there are"
                )
            return found.text

        source = Source.command(ctx, "restore")
        await self._portraits.change(Chat.of(ctx.session), source, make)
        return f"Version {wanted} is back."


def _line(version: Version) -> str:
    when = datetime.fromtimestamp(version.created).strftime("%Y-%m-%d %H:%M")
    flat = " ".join(version.text.split()) or "(empty)"
    shown = flat if len(flat) <= SHOWN else f"{flat[: SHOWN - 1]}…"
    return f"{version.version}. {when} · {version.origin} · {shown}"
