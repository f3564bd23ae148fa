"""The Telegram client: sends, edits and polls."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import hookline_channelkit as kit
from hookline_hookspecs import Attachment, Audio, Host
from hookline_hookspecs.visible_text import spell_out

from .config import TelegramConfig
from .renderer import TelegramHtml

if TYPE_CHECKING:
    from .api import Api
    from .receiver import TelegramReceiver

PHOTO_BYTES = 10_000_000
"""The largest photo that can be sent (core.telegram.org/bots/api, sendPhoto)."""
PHOTOS = frozenset({"image/jpeg", "image/png", "image/webp"})
NO_PREVIEW = {"is_disabled": True}
"""For every text that is sent or edited; captions have no previews."""
_NUMBER = re.compile(r"(?:-?\d+:)?(\d+)")
_CHAT = re.compile(r"(-?\d+)(?::(\d+))?")


class TelegramClient(kit.PollingClient):
    """Telegram. A chat is ``CHAT`` or ``CHAT:TOPIC``.

    Messages cannot be looked up, and Telegram stores updates until they are confirmed.
    """

    can = kit.PollingClient.can | {"voice"}
    renderer = TelegramHtml()

    def __init__(self, config: TelegramConfig, host: Host) -> None:
        super().__init__(host, config)
        self._config, self._moves = config, kit.ChatAliases(host)
        self.limits = kit.Limits(
            text=4096, unit="utf16", edit_every=config.edit_every, per_chat=1.0
        )

    @property
    def identity(self) -> str:
        """The API's address with the token."""
        token = self.account["token"]
        return f"{self._config.base_url}{token}" if token else ""

    @kit.lazy_client
    def _api(self) -> Api:
        """The connection to the Bot API."""
        from .api import Api

        return Api(self.account["token"], self._config)

    @cached_property
    def _receiver(self) -> TelegramReceiver:
        from .receiver import TelegramReceiver

        return TelegramReceiver(self._config, self.host, self._api, self._moves)

    # Receiving

    async def receive_once(self, receive: kit.ReceiveCallback) -> None:
        """Fetch updates once; the request stays open for the configured time."""
        await self._receiver.receive_once(receive)

    async def whoami(self) -> str:
        """Return the bot's name."""
        user = await self._api.ask("GetMe")
        return f"the bot is @{user.get('username')}"

    async def set_commands(self, commands: Mapping[str, str]) -> None:
        """Set the commands of the menu."""
        menu = [{"command": name, "description": help_} for name, help_ in commands.items()]
        await self._api.ask("SetMyCommands", commands=menu)

    async def fetch_file(self, file: kit.RemoteFile) -> bytes:
        """Return the bytes of a file, up to 20 MB."""
        return await self._api.download(file.ref)

    # Sending

    async def _in(self, chat: str, method: str, **parameters: Any) -> Any:
        """Call a method for a chat; once more if the group was upgraded."""
        api, place = self._api, await self._moves.id_of(chat.partition(":")[0])
        from .api import Moved

        if _CHAT.fullmatch(chat) is None:
            raise kit.ChatGone(f"{chat!r} is not a Telegram chat")
        try:
            return await api.ask(method, chat_id=int(place), **parameters)
        except Moved as moved:
            await self._moves.add(place, moved.chat)
            return await api.ask(method, chat_id=int(moved.chat), **parameters)

    async def _send(
        self, chat: str, method: str, options: kit.SendOptions, **parameters: Any
    ) -> str:
        """Send a message and return its id. In groups it quotes the message that it answers."""
        found = _NUMBER.fullmatch(options.reply_to or "") if chat.startswith("-") else None
        quoted = (
            {"message_id": int(found[1]), "allow_sending_without_reply": True} if found else None
        )
        _, _, thread = chat.partition(":")
        parameters |= {"message_thread_id": thread or None, "reply_parameters": quoted}
        message = await self._in(chat, method, **parameters)
        return str(message["message_id"])

    async def send_text(self, chat: str, text: str, options: kit.SendOptions) -> str:
        """Send a text and return its id."""
        return await self._send(chat, "SendMessage", options, text=text, **_style(options))

    async def edit_message(
        self, chat: str, message_id: str, text: str, options: kit.SendOptions
    ) -> None:
        """Replace a message."""
        number = int(message_id)
        await self._in(chat, "EditMessageText", message_id=number, text=text, **_style(options))

    async def delete_message(self, chat: str, message_id: str) -> None:
        """Remove a message."""
        await self._in(chat, "DeleteMessage", message_id=int(message_id))

    async def remove_buttons(self, chat: str, message_id: str) -> None:
        """Remove the buttons of a message."""
        await self._in(chat, "EditMessageReplyMarkup", message_id=int(message_id))

    async def send_file(self, chat: str, item: Attachment | Audio, options: kit.SendOptions) -> str:
        """Send a file: OGG/Opus as a voice message, pictures as photos, others as documents.

        If that form is refused, it is sent as a document too.
        """
        upload, more = await kit.Upload.of(item), {"caption": options.caption or None}
        kind = _form(upload)
        duration = round(upload.seconds) or None
        try:
            fields = _fields(kind, upload) | more | {"duration": duration}
            return await self._send(chat, f"Send{kind}", options, **fields)
        except kit.ChatGone:
            return await self._send(
                chat, "SendDocument", options, **_fields("Document", upload), **more
            )

    async def show_typing(self, chat: str) -> None:
        """Show the typing indicator for 5 s."""
        thread = chat.partition(":")[2] or None
        await self._in(chat, "SendChatAction", action="typing", message_thread_id=thread)

    async def private_chat(self, person: str) -> str:
        """Return the chat with a person, which has the same id."""
        return person


def _style(options: kit.SendOptions) -> dict[str, Any]:
    """Return the format and buttons of a text. A button's data, of 64 bytes, is its number."""
    rows = [
        [{"text": spell_out(one.label), "callback_data": str(n)}]
        for n, one in enumerate(options.choices)
    ]
    return {
        "parse_mode": "HTML" if options.rich else None,
        "link_preview_options": NO_PREVIEW,
        "reply_markup": {"inline_keyboard": rows} if rows else None,
    }


def _form(file: kit.Upload) -> str:
    if file.is_sound:
        return "Voice" if file.is_opus else "Audio"
    is_photo = file.mime in PHOTOS and len(file.data) <= PHOTO_BYTES
    return "Photo" if is_photo else "Document"


def _fields(kind: str, file: kit.Upload) -> dict[str, Any]:
    from telegram import InputFile

    return {kind.casefold(): InputFile(file.data, file.name, attach=False)}
