"""The connection that the kit drives: chats by name, ids as text, and a group that moves."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from hookline_channelkit import CannotStart, Gone, Limits, Take, WireError, paint
from hookline_hookspecs import Attachment, Audio, HooklineError, Host

from .config import TelegramConfig, fault_of, token_of
from .menu import commands_of
from .moves import Moves
from .painter import TelegramHtml
from .shown import Shown

if TYPE_CHECKING:
    from telegram import Bot, Message

    from .polling import Poller
    from .taking import Taker

T = TypeVar("T")
CONNECT_SECONDS = 10.0
"""For the first word of Telegram; without it the poller goes on asking."""
_NUMBER = re.compile(r"(?:-?\d+:)?(\d+)(?::e\d+)?")
_PAINTER = TelegramHtml()


class TelegramWire:
    """Telegram (protocol ``Wire`` of the kit). A chat is ``CHAT`` or ``CHAT:TOPIC``."""

    def __init__(self, config: TelegramConfig, host: Host) -> None:
        self._config = config
        self._host = host
        self._moves = Moves(host)
        self._shown = Shown()
        self._made: tuple[Bot, Taker, Poller] | None = None
        self._polling: asyncio.Task[None] | None = None
        self._has_menu = config.commands == {}
        self.limits = Limits(text=4096, unit="utf16", edit_every=config.edit_every, per_chat=1.0)

    def _parts(self) -> tuple[Bot, Taker, Poller]:
        """What talks to Telegram, made when it is first needed. Raises :class:`CannotStart`."""
        if self._made is None:
            token = token_of(self._config, self._host)
            if (fault := fault_of(token)) is not None:
                raise CannotStart(fault)
            from .api import bot_of
            from .polling import Poller
            from .taking import Taker

            config = self._config
            bot = bot_of(token, config.base_url, config.base_file_url)
            taker = Taker(config, self._host, bot, self._moves, self._shown)
            self._made = bot, taker, Poller(bot, taker, config.poll_seconds, self._host.log)
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
        _, _, poller = self._parts()
        await self.disconnect()
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await self._ask(lambda bot: bot.get_me())
        except CannotStart:
            raise
        except (HooklineError, TimeoutError) as error:
            self._host.log.warning("beginning without Telegram: %s", error or "no answer")
        self._polling = self._host.spawn(poller.run(take), "receive")
        self._polling.add_done_callback(lambda ended: _tell_if_broken(ended, take))
        if not self._has_menu:
            self._has_menu = True
            self._host.spawn(self._menu(), "menu")

    async def disconnect(self) -> None:
        """Poll no more; what is being stored is stored to its end."""
        polling, self._polling = self._polling, None
        if polling is not None:
            polling.cancel()
            await asyncio.wait({polling})
        if self._made is not None:
            await self._made[1].settled()

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
        await self._ask(lambda bot: bot.get_me())

    async def _menu(self) -> None:
        """Show the commands that exist in the chats' menu."""
        commands = self._config.commands or await commands_of(self._host)
        try:
            await self._ask(lambda bot: bot.set_my_commands(list(commands.items())))
        except HooklineError as error:
            self._host.log.warning("the menu of commands could not be set: %s", error)

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

    async def text(
        self, chat: str, text: str, *, rich: bool, reply_to: str | None, choices: tuple[str, ...]
    ) -> str:
        """Send a message; its id."""
        from .api import NO_PREVIEW, keyboard

        def work(bot: Bot, place: int, thread: int | None) -> Awaitable[Message]:
            return bot.send_message(
                text=text,
                parse_mode=_mode(rich),
                link_preview_options=NO_PREVIEW,
                reply_markup=keyboard(choices),
                **_where(place, thread, reply_to),
            )

        began = self._host.now()
        message = await self._in(chat, work)
        self._shown.note(message.chat.id, message.message_id, began)
        return str(message.message_id)

    async def edit(
        self, chat: str, message_id: str, text: str, *, rich: bool, choices: tuple[str, ...] = ()
    ) -> None:
        """Replace a message."""
        from .api import NO_PREVIEW, keyboard

        mode, buttons, number = _mode(rich), keyboard(choices), int(message_id)
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
        """Take a message's buttons away; a failure is logged."""
        number = int(message_id)
        try:
            await self._in(chat, lambda bot, place, _: bot.edit_message_reply_markup(place, number))
        except HooklineError as error:
            self._host.log.info("the buttons of a message could not be taken away: %s", error)

    async def file(
        self, chat: str, item: Attachment | Audio, *, caption: str, reply_to: str | None
    ) -> str:
        """Send a file: OGG/Opus as a voice bubble, pictures as photos, others as documents."""
        from .api import send_file

        data = await asyncio.to_thread(item.path.read_bytes)

        def work(bot: Bot, place: int, thread: int | None) -> Awaitable[Message]:
            where = _where(place, thread, reply_to)
            return send_file(bot, item, data, caption=caption or None, **where)

        return str((await self._in(chat, work)).message_id)

    async def typing(self, chat: str) -> None:
        """Show for 5 s that somebody writes."""
        await self._in(
            chat,
            lambda bot, place, thread: bot.send_chat_action(
                place, "typing", message_thread_id=thread
            ),
        )

    def render(self, markdown: str) -> str:
        """Telegram's HTML."""
        return paint(markdown, _PAINTER)

    def problem_of(self, message_id: str) -> str | None:
        """What the sender of a message is still to be told, once."""
        return self._made[1].problems.pop(message_id, None) if self._made is not None else None


def _tell_if_broken(ended: asyncio.Task[None], take: Take) -> None:
    if not ended.cancelled():
        take.broken("polling has ended")


def _mode(rich: bool) -> str | None:
    return "HTML" if rich else None


def _where(place: int, thread: int | None, reply_to: str | None) -> dict[str, Any]:
    """Where a message goes, and what it quotes: in groups, where several people write."""
    found = _NUMBER.fullmatch(reply_to or "") if place < 0 else None
    return {
        "chat_id": place,
        "message_thread_id": thread,
        "reply_to_message_id": int(found[1]) if found is not None else None,
        "allow_sending_without_reply": True if found is not None else None,
    }
