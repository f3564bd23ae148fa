"""The slash command ``/user``: shows and changes the profile of this chat."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime

from hookline_hookspecs import Context, Origin, Refused
from hookline_hookspecs.chat_files import Chat
from hookline_hookspecs.sentences import N_

from .config import UserModelConfig
from .curator import KIND
from .profile_edits import ProfileEdits
from .profiles import ChangeSource, ProfileStore, ProfileVersion
from .user_file import InvalidChange

HELP = N_(
    "Usage: /user shows your profile · /user pin TEXT keeps a line permanently · "
    "/user unpin TEXT · "
    "/user clear · /user history · /user restore N"
)
MAX_VERSION_CHARS = 80
"""Characters of a version in the list."""


class UserCommand:
    """Runs the command."""

    def __init__(self, profiles: ProfileStore, config: UserModelConfig) -> None:
        self._edits = ProfileEdits(profiles, config.max_chars)
        self._profiles = profiles
        self._config = config

    async def run(self, ctx: Context, args: str) -> str:
        """Return the reply to ``/user ARGS``."""
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
        except (InvalidChange, Refused) as error:
            return f"{error}."

    async def _show(self, ctx: Context, _rest: str) -> str:
        present = await self._profiles.present(Chat.of(ctx.session))
        if not present.text:
            return f"{N_('Nothing is known about you in this chat yet.')}\n{HELP}"
        limit = self._config.max_chars
        used = N_(f"{round(100 * len(present.text) / limit)} % of {limit:,} characters")
        return f"{N_('Known about you in this chat')} · {used}\n{present.text}"

    async def _pin(self, ctx: Context, text: str) -> str:
        if not text:
            return N_("Usage: /user pin TEXT")
        source = ChangeSource.command(ctx, "pin")
        where = f"/user pin, session {source.session_id}"
        forwarded = ctx.turn.inbound.forwarded
        # The person's own words, so not the origins of what the session has read.
        origins = (Origin("outside", f"forwarded from {forwarded}"),) if forwarded else ()
        learned = await ctx.learn(" ".join(text.split()), where, KIND, origins=origins)
        return N_(f"Pinned: {await self._edits.pin(Chat.of(ctx.session), source, learned)}")

    async def _unpin(self, ctx: Context, text: str) -> str:
        chat, source = Chat.of(ctx.session), ChangeSource.command(ctx, "unpin")
        return N_(f"Unpinned: {await self._edits.unpin(chat, source, text)}")

    async def _clear(self, ctx: Context, _rest: str) -> str:
        chat, source = Chat.of(ctx.session), ChangeSource.command(ctx, "clear")
        if not await self._edits.clear(chat, source):
            return N_("Nothing was known about you in this chat.")
        return N_("Cleared, including pinned lines. /user history lists versions to restore.")

    async def _history(self, ctx: Context, _rest: str) -> str:
        versions = await self._profiles.versions(Chat.of(ctx.session))
        if not versions:
            return N_("No versions yet.")
        return "\n".join([*map(_line, versions), N_("Restore one with /user restore N.")])

    async def _restore(self, ctx: Context, number: str) -> str:
        if not number.isdecimal() or len(number) > 9:
            return N_("Usage: /user restore N, with a number from /user history")
        chat, source = Chat.of(ctx.session), ChangeSource.command(ctx, "restore")
        await self._edits.restore(chat, source, int(number))
        return N_(f"Restored version {int(number)}.")


def _line(version: ProfileVersion) -> str:
    when = datetime.fromtimestamp(version.created).strftime("%Y-%m-%d %H:%M")
    flat = " ".join(version.text.split()) or N_("(empty)")
    shown = flat if len(flat) <= MAX_VERSION_CHARS else f"{flat[: MAX_VERSION_CHARS - 1]}…"
    return f"{version.version}. {when} · {version.origin} · {shown}"
