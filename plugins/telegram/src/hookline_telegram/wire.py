"""The connection that the kit drives: chats by name, ids as text, and a group that moves."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from hookline_channelkit import (
    CannotStart,
    Gone,
    Limits,
    Post,
    RemoteFile,
    Take,
    Wire,
    WireError,
    paint,
)
from hookline_hookspecs import Attachment, Audio, HooklineError, Host

from .config import TelegramConfig, fault_of, token_of
from .moves import Moves
from .painter import TelegramHtml
from .shown import Shown

if TYPE_CHECKING:
    from telegram import Bot, Message

    from .polling import Poller

T = TypeVar("T")
CONNECT_SECONDS = 10.0
"""For the first word of Telegram; without it the poller goes on asking."""
_NUMBER = re.compile(r"(?:-?\d+:)?(\d+)")
_PAINTER = TelegramHtml()


class TelegramWire(Wire):
    """Telegram. A chat is ``CHAT`` or ``CHAT:TOPIC``. It has no way to look a message up, and
    keeps updates itself until they are confirmed."""

    can = Wire.can | {"voice"}

    def __init__(self, config: TelegramConfig, host: Host) -> None:
        self._config = config
        self._host = host
        self._token = token_of(config, host)
        self._moves = Moves(host)
        self._shown = Shown()
        self._made: tuple[Bot, Poller] | None = None
        self._polling: asyncio.Task[None] | None = None
        self.limits = Limits(text=4096, unit="utf16", edit_every=config.edit_every, per_chat=1.0)

    @property
    def identity(self) -> str:
        """The bot's address."""
        return f"{self._config.base_url}{self._token}" if self._token else ""

    def _parts(self) -> tuple[Bot, Poller]:
        """What talks to Telegram, made when it is first needed. Raises :class:`CannotStart`."""
        if self._made is None:
            if (fault := fault_of(self._token, self._host.plugin)) is not None:
                raise CannotStart(fault)
            from .api import bot_of
            from .arriving import Arriving
            from .polling import Poller

            config = self._config
            bot = bot_of(self._token, config.base_url, config.base_file_url)
            arriving = Arriving(config, self._host, bot, self._moves, self._shown)
            self._made = bot, Poller(bot, arriving, config.poll_seconds, self._host.log)
        return self._made

    async def _ask(self, work: Callable[[Bot], Awaitable[T]]) -> T:
        bot = self._parts()[0]
        from .api import understood

        with understood():
            return await work(bot)

    # Receiving

    async def connect(self, take: Take) -> None:
        """Begin to poll. Raises :class:`CannotStart` for a token that Telegram does not know;
        without a network it begins, and goes on as soon as there is one."""
        _, poller = self._parts()
        await self.disconnect()
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await self.whoami()
        except CannotStart:
            raise
        except (HooklineError, TimeoutError) as error:
            self._host.log.warning("beginning without Telegram: %s", error or "no answer")
        self._polling = self._host.spawn(poller.run(take), "receive")
        self._polling.add_done_callback(lambda ended: _tell_if_broken(ended, take))

    async def disconnect(self) -> None:
        """Poll no more."""
        polling, self._polling = self._polling, None
        if polling is not None:
            polling.cancel()
            await asyncio.wait({polling})

    async def aclose(self) -> None:
        """Close the connections."""
        await self.disconnect()
        if self._made is not None:
            from .api import close

            await close(self._made[0])

    async def probe(self) -> None:
        """Ask Telegram who the bot is. Raises if it does not say so, or if nobody polls."""
        if self._polling is None or self._polling.done():
            raise WireError("nobody asks for updates")
        await self.whoami()

    async def whoami(self) -> str:
        """The bot's name."""
        user = await self._ask(lambda bot: bot.get_me())
        return f"the bot is @{user.username}"

    async def set_menu(self, commands: Mapping[str, str]) -> None:
        """Show the commands in the chats' menu."""
        await self._ask(lambda bot: bot.set_my_commands(list(commands.items())))

    async def fetch(self, file: RemoteFile) -> bytes:
        """The bytes of a file, up to 20 MB."""
        from .api import download

        return await self._ask(lambda bot: download(bot, file.ref))

    # Sending

    async def _in(self, chat: str, work: Callable[[Bot, int, int | None], Awaitable[T]]) -> T:
        """Do something in a chat; once more where it has moved."""
        try:
            place, thread = await self._moves.place_of(chat)
        except ValueError:
            raise Gone(f"{chat!r} is no chat of Telegram") from None
        from .api import Moved

        try:
            return await self._ask(lambda bot: work(bot, place, thread))
        except Moved as moved:
            new = moved.chat
            await self._moves.note(place, new)
            return await self._ask(lambda bot: work(bot, new, thread))

    async def text(self, chat: str, text: str, post: Post) -> str:
        """Send a message; its id."""
        from .api import NO_PREVIEW, keyboard

        def work(bot: Bot, place: int, thread: int | None) -> Awaitable[Message]:
            return bot.send_message(
                text=text,
                parse_mode=_mode(post),
                link_preview_options=NO_PREVIEW,
                reply_markup=keyboard(post.choices),
                **_where(place, thread, post.reply_to),
            )

        began = self._host.now()
        message = await self._in(chat, work)
        self._shown.note(message.chat.id, message.message_id, began)
        return str(message.message_id)

    async def edit(self, chat: str, message_id: str, text: str, post: Post) -> None:
        """Replace a message."""
        from .api import NO_PREVIEW, keyboard

        mode, buttons, number = _mode(post), keyboard(post.choices), int(message_id)
        await self._in(
            chat,
            lambda bot, place, _: bot.edit_message_text(
                text,
                place,
                number,
                parse_mode=mode,
                link_preview_options=NO_PREVIEW,
                reply_markup=buttons,
            ),
        )

    async def delete(self, chat: str, message_id: str) -> None:
        """Remove a message."""
        await self._in(chat, lambda bot, place, _: bot.delete_message(place, int(message_id)))

    async def unbutton(self, chat: str, message_id: str) -> None:
        """Take a message's buttons away."""
        number = int(message_id)
        await self._in(chat, lambda bot, place, _: bot.edit_message_reply_markup(place, number))

    async def file(self, chat: str, item: Attachment | Audio, post: Post) -> str:
        """Send a file: OGG/Opus as a voice bubble, pictures as photos, others as documents."""
        from .api import send_file

        data = await asyncio.to_thread(item.path.read_bytes)

        def work(bot: Bot, place: int, thread: int | None) -> Awaitable[Message]:
            where = _where(place, thread, post.reply_to)
            return send_file(bot, item, data, caption=post.caption or None, **where)

        return str((await self._in(chat, work)).message_id)

    async def typing(self, chat: str) -> None:
        """Show for 5 s that somebody writes."""
        await self._in(
            chat,
            lambda bot, place, thread: bot.send_chat_action(
                place, "typing", message_thread_id=thread
            ),
        )

    async def private_chat(self, person: str) -> str:
        """The chat with a person has their number."""
        return person

    def render(self, markdown: str) -> str:
        """Telegram's HTML."""
        return paint(markdown, _PAINTER)


def _tell_if_broken(ended: asyncio.Task[None], take: Take) -> None:
    if not ended.cancelled():
        take.broken("polling has ended")


def _mode(post: Post) -> str | None:
    return "HTML" if post.rich else None


def _where(place: int, thread: int | None, reply_to: str | None) -> dict[str, Any]:
    """Where a message goes, and what it quotes: in groups, where several people write."""
    found = _NUMBER.fullmatch(reply_to or "") if place < 0 else None
    return {
        "chat_id": place,
        "message_thread_id": thread,
        "reply_to_message_id": int(found[1]) if found is not None else None,
        "allow_sending_without_reply": True if found is not None else None,
    }
