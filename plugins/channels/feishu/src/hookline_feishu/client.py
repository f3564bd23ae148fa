"""The Feishu client: sends posts and cards, streams answers, reads history."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any

import hookline_channelkit as kit
from hookline_channelkit import (
    BadMarkup,
    ChatGone,
    InboundEvent,
    Limits,
    MessageGone,
    PermissionDenied,
    Rate,
    ReceiveCallback,
    RemoteFile,
    SendOptions,
    Unknown,
)
from hookline_hookspecs import Attachment, Audio, HooklineError, Host

from .api import Api, Json, NotFound
from .cards import Cards
from .config import FACTS, FeishuConfig
from .receiver import FeishuReceiver
from .renderer import RENDERER, card_content, has_table, post_content, request_bytes, to_json
from .socket import Socket

KB, MB = 1024, 1024 * 1024
UUID_SECONDS = 3300.0
"""Seconds for which Feishu remembers a ``uuid`` (open.feishu.cn, im-v1/message/create: an hour)."""
LIMITS = Limits(
    text=26 * KB,
    measure=request_bytes,
    tables=3,
    edit_seconds=540.0,
    per_chat=4.5,
    overall=16.0,
    rates={"edit": Rate(9.0, 40.0)},
    file_bytes=30 * MB,
    choices=20,
    typing_every=5.0,
)
"""Below Feishu's limits: 30 KB, 3 to 5 tables and 600 s of a card, 5 messages a second in a chat,
1,000 a minute in all, 10 updates of a card a second (open.feishu.cn, im-v1 and cardkit-v1)."""
PICTURES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp", "image/bmp"})
DOCUMENTS = {"application/pdf": "pdf", "video/mp4": "mp4"}
MESSAGES_PATH = "/im/v1/messages"


class FeishuClient(kit.ListeningClient):
    """Feishu. A chat is ``CHAT`` or ``CHAT:THREAD``."""

    can = kit.PlatformClient.can | {"voice", "reactions", "threads"}
    renderer = RENDERER
    has_history = True

    def __init__(self, config: FeishuConfig, host: Host) -> None:
        super().__init__(host, config)
        self._config = config
        self._typing: dict[str, tuple[str, str]] = {}
        """The message that has the reaction for typing, and the reaction's id, by chat."""
        self._has_cards, self._has_begun = True, False
        self.limits = replace(LIMITS, edit_every=config.edit_every)

    @kit.lazy_client
    def _api(self) -> Api:
        """The connection to Feishu's API."""
        return Api(self.account["app_id"], self.account["app_secret"], self._config.domain)

    @cached_property
    def _socket(self) -> Socket:
        return Socket(self._api, self._event, self.heartbeat, self.disconnected)

    @cached_property
    def _receiver(self) -> FeishuReceiver:
        return FeishuReceiver(self._config, self.host, self._api)

    @cached_property
    def _cards(self) -> Cards:
        return Cards(self.host, self._api)

    # Receiving

    async def authenticate(self) -> None:
        """Find out who the bot is."""
        self._receiver.me = str((await self._bot())["open_id"])

    async def listen(self, receive: ReceiveCallback) -> None:
        """Open the long connection; if that fails at the start, the watchdog retries it."""
        try:
            await self._socket.open()
        except kit.CannotStart:
            raise
        except HooklineError as error:
            if self._has_begun:
                raise
            receive.disconnected(str(error))
        self._has_begun = True

    async def disconnect(self) -> None:
        """Receive no more."""
        if "_socket" in vars(self):
            await self._socket.close()

    async def probe(self) -> None:
        """Ping through the long connection."""
        await self._socket.probe()

    async def _event(self, body: Json) -> Any:
        """Store an event and return the answer to a button. Raises if it must be sent again."""
        assert self.receive is not None
        kind, event = (
            str(kit.get_in(body, "header", "event_type")),
            kit.get_in(body, "event", default={}),
        )
        is_press = kind == FACTS["callback"]
        receiver = self._receiver
        parsed = receiver.press(event) if is_press else receiver.parse_event(kind, event)
        toast = kit.PRESS_REPLIES[await kit.receive_event(self.receive, parsed, self.host.log)]
        if not is_press:
            return None
        return {"toast": {"type": "info", "content": toast}} if toast else {}

    async def list_chats(self) -> Sequence[str]:
        """Return the groups; Feishu does not list private chats."""
        found = self._receiver.pages("/im/v1/chats", page_size="100")
        return [str(one["chat_id"]) async for one in found]

    def history(self, chat: str, after: str, since: float) -> AsyncIterator[InboundEvent]:
        """Yield a chat's messages after ``after``, and those of its threads."""
        return self._receiver.history(chat, after, since)

    async def fetch_file(self, file: RemoteFile) -> bytes:
        """Return the bytes of a message's file."""
        message, key, kind = file.ref.split("/")
        return await self._api.read(f"{MESSAGES_PATH}/{message}/resources/{key}", kind)

    # Sending

    async def send_text(self, chat: str, text: str, options: SendOptions) -> str:
        """Send a message: as a card if it has buttons or a table, or if it is streamed."""
        cards = self._cards
        if not options.final and self._has_cards and options.rich:
            try:
                return await self._show(chat, await cards.make(text, options), options)
            except (PermissionDenied, BadMarkup) as error:
                every = max(1.5, self._config.edit_every)
                self._has_cards, self.limits = False, replace(LIMITS, edits=20, edit_every=every)
                self.host.log.warning(
                    "no cards; streaming with up to 20 edits per message: %s", error
                )
        if options.choices or (options.rich and options.final and has_table(text)):
            made = card_content(text, rich=options.rich, choices=options.choices, chat=chat)
            message = await self._send(chat, "interactive", made, options)
            await cards.keep(message, {"text": text, "rich": options.rich})
            return message
        return await self._send(chat, "post", post_content(text, rich=options.rich), options)

    async def _show(self, chat: str, record: Json, options: SendOptions) -> str:
        """Send the message that shows a card; a repeated call sends no second one."""
        shown = to_json({"type": "card", "data": {"card_id": record["card"]}})
        message = await self._send(chat, "interactive", shown, options)
        await self._cards.keep(message, record)
        await self._cards.forget(options.token)
        return message

    async def edit_message(
        self, chat: str, message_id: str, text: str, options: SendOptions
    ) -> None:
        """Change a post or a card; the last edit closes a streamed card."""
        cards = self._cards
        if (record := await cards.kept(message_id)) is None:
            body = {"msg_type": "post", "content": post_content(text, rich=options.rich)}
            await self._api.change("PUT", f"{MESSAGES_PATH}/{message_id}", body)
        elif "card" in record and not options.final:
            await cards.grow(record, text, options)
        else:
            await cards.finish(chat, message_id, record, text, options)

    async def delete_message(self, chat: str, message_id: str) -> None:
        """Delete a message."""
        await self._api.change("DELETE", f"{MESSAGES_PATH}/{message_id}")
        await self._cards.forget(message_id)

    async def remove_buttons(self, chat: str, message_id: str) -> None:
        """Draw a card without its buttons."""
        await self._cards.remove_buttons(chat, message_id)

    async def send_file(self, chat: str, item: Attachment | Audio, options: SendOptions) -> str:
        """Send a file: Opus as a voice message, pictures as such, anything else as a file."""
        upload = await kit.Upload.of(item)
        named = upload.name, upload.data
        if upload.mime in PICTURES and len(upload.data) <= 10 * MB:
            form, files = {"image_type": "message"}, {"image": named}
            made = await self._api.ask("POST", "/im/v1/images", data=form, files=files)
            key = made["image_key"]
            if options.caption:
                shown = post_content(options.caption, rich=False, image=key)
                return await self._send(chat, "post", shown, options)
            return await self._send(chat, "image", to_json({"image_key": key}), options)
        kind = "audio" if upload.is_opus else "file"
        form = {"file_type": DOCUMENTS.get(upload.mime, "stream"), "file_name": upload.name}
        if upload.is_opus:
            length = max(1, round(upload.seconds * 1000))
            form |= {"file_type": "opus", "duration": str(length)}
        made = await self._api.ask("POST", "/im/v1/files", data=form, files={"file": named})
        key = made["file_key"]
        if options.caption:
            words = replace(
                options, token=f"{options.token}c" if options.token else "", final=False
            )
            await self._send(chat, "post", post_content(options.caption, rich=False), words)
        return await self._send(chat, kind, to_json({"file_key": key}), options)

    async def _send(self, chat: str, kind: str, made: str, options: SendOptions) -> str:
        """Send a message: into its thread, as a reply in groups, or into the chat."""
        body: Json = {"msg_type": kind, "content": made}
        body |= {"uuid": options.token} if options.token else {}
        thread = chat.partition(":")[2] or options.thread or ""
        try:
            if to := await self._reply_target(chat, thread, options):
                more = {"reply_in_thread": True} if thread else {}
                with suppress(*(() if thread else (MessageGone,))):  # it was deleted
                    return await self._made("POST", f"{MESSAGES_PATH}/{to}/reply", body | more)
            return await self._begin(chat, body)
        except NotFound as error:
            raise (BadMarkup if options.rich else ChatGone)(str(error)) from None
        except MessageGone as error:
            raise ChatGone(str(error)) from None

    async def _made(self, method: str, path: str, body: Json, **more: Any) -> str:
        sent = await self._api.ask(method, path, body, sends=True, **more)
        return str(sent["message_id"])

    async def _begin(self, chat: str, body: Json) -> str:
        """Send into a chat, which Feishu creates if needed."""
        place, _ = await self._receiver.split(chat)
        kind = "open_id" if place.startswith("ou_") else "chat_id"
        where, body = {"receive_id_type": kind}, body | {"receive_id": place}
        sent = await self._api.ask("POST", MESSAGES_PATH, body, sends=True, params=where)
        if kind == "open_id":
            await self._receiver.moves.add(place, str(sent["chat_id"]))
        return str(sent["message_id"])

    async def _reply_target(self, chat: str, thread: str, options: SendOptions) -> str:
        """Return the message to reply to: in a thread any of its messages, in a group the answered
        one, in a private chat none."""
        to = options.reply_to or ""
        is_shared = thread or await self._receiver.kind_of(chat.partition(":")[0]) != "p2p"
        if to.startswith("om_") and is_shared:
            return to
        return await self._in_thread(thread) if thread else ""

    async def _in_thread(self, thread: str) -> str:
        """Return a message of a thread, to reply to."""
        query = {"container_id_type": "thread", "container_id": thread, "page_size": "1"}
        async for one in self._receiver.pages(MESSAGES_PATH, **query):
            return str(one["message_id"])
        raise ChatGone(f"the thread {thread} no longer exists")

    async def find_message(
        self, chat: str, token: str, text: str, since: float
    ) -> str | Unknown | None:
        """Find a sent message by its text.

        For an hour Feishu ignores a repeated token, so that sending again is safe; a streamed
        message is sent again with its token, which returns the first one.
        """
        if self.host.now() - since < UUID_SECONDS:
            if text:
                return None
            again = SendOptions(token, final=False)
            if (record := await self._cards.kept(token)) is not None:
                again = replace(again, reply_to=record["reply_to"])
                return await self._show(chat, record, again)
            return await self._send(chat, "post", post_content("…", rich=False), again)
        if not text:
            return kit.UNKNOWN
        expected = _letters(text)
        async for item in self._receiver.items(chat, int(since * 1000)):
            is_own = kit.get_in(item, "sender", "id") == self._api.app_id
            if is_own and expected in _letters(str(kit.get_in(item, "body", "content"))):
                return str(item["message_id"])
        return None

    # Reactions and threads

    async def show_typing(self, chat: str) -> None:
        """Show typing as a reaction to the last message, until it is answered."""
        message = self._receiver.last.get(chat, "")
        if message and self._typing.get(chat, ("", ""))[0] != message:
            await self.hide_typing(chat)
            self._typing[chat] = message, await self.react(chat, message, "Typing")

    async def hide_typing(self, chat: str) -> None:
        """Remove that reaction."""
        if chat in self._typing:
            message, reaction = self._typing.pop(chat)
            await self.remove_reaction(chat, message, reaction)

    async def react(self, chat: str, message_id: str, emoji: str) -> str:
        """React to a message; an emoji that Feishu lacks becomes OK."""
        names = {shown: name for name, shown in FACTS["emoji"].items()} | {"Typing": "Typing"}
        body = {"reaction_type": {"emoji_type": names.get(emoji, "OK")}}
        made = await self._api.ask("POST", f"{MESSAGES_PATH}/{message_id}/reactions", body)
        return str(made["reaction_id"])

    async def remove_reaction(self, chat: str, message_id: str, reaction: str) -> None:
        """Remove a reaction."""
        await self._api.ask("DELETE", f"{MESSAGES_PATH}/{message_id}/reactions/{reaction}")

    async def private_chat(self, person: str) -> str:
        """Return the chat with a person, or the person: the first message creates the chat."""
        return (await self._receiver.people.all()).get(person, person)

    async def open_thread(self, chat: str, message_id: str) -> str:
        """Return the message's thread; without one, a reply starts it."""
        for item in await self._receiver.message(message_id):
            if item.get("thread_id"):
                return str(item["thread_id"])
        body: Json = {"msg_type": "post", "content": post_content("…", rich=False)}
        body |= {"reply_in_thread": True}
        made = await self._api.ask("POST", f"{MESSAGES_PATH}/{message_id}/reply", body, sends=True)
        return str(made.get("thread_id") or "")

    # The app

    @property
    def identity(self) -> str:
        """The API's address and the app's id."""
        app = self.account["app_id"]
        return f"{self._config.domain} {app}" if app else ""

    async def _bot(self) -> Json:
        return dict((await self._api.ask("GET", "/bot/v3/info")).get("bot") or {})

    async def whoami(self) -> str:
        """Return the bot's name. Raises if it may not open a long connection."""
        bot = await self._bot()
        await self._api.endpoint()
        return f"the bot is {bot.get('app_name')}, and may open a long connection"

    async def missing_permissions(self) -> Sequence[str]:
        """Return the scopes that were not granted."""
        scopes = (await self._api.ask("GET", "/application/v6/scopes")).get("scopes") or ()
        granted = {one.get("scope_name") for one in scopes if one.get("grant_status") == 1}
        at = f"{self._config.domain}/app/{self._api.app_id}/auth"
        return [
            f"the scope {name} is missing ({what}); switch it on under {at} and publish a version"
            for name, what in FACTS["scopes"].items()
            if name not in granted
        ]


def _letters(text: str) -> str:
    """Return the letters and digits of a text, which no markup changes."""
    return "".join(one for one in text if one.isalnum())
