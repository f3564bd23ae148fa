"""The connection that the kit drives: chats by name, messages by id, answers that grow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hookline_channelkit import (
    PRESSED,
    UNKNOWN,
    Arrival,
    BadMarkup,
    CannotStart,
    Gone,
    Limits,
    Lost,
    Post,
    Rate,
    Refused,
    RemoteFile,
    Take,
    Unknown,
    Wire,
)
from hookline_hookspecs import Attachment, Audio, HooklineError, Host
from hookline_speech import audio_kind, seconds

from . import content, reading
from .api import Api, Json, NotFound
from .cards import Cards
from .config import SCOPES, FeishuConfig, account_of, fault_of
from .receiving import Receiving
from .socket import Socket

KB, MB = 1024, 1024 * 1024
DEDUPED = 3300.0
"""Seconds for which a ``uuid`` is surely known (open.feishu.cn, im-v1/message/create: an hour)."""
LIMITS = Limits(
    text=26 * KB,
    measure=content.measure,
    tables=3,
    edit_seconds=540.0,
    per_chat=4.5,
    overall=16.0,
    rates={"edit": Rate(9.0, 40.0)},
    file_bytes=30 * MB,
    choices=20,
    typing_every=5.0,
)
"""Of 30 KB, 3 to 5 tables and 600 s of a card, 5 messages a second in a chat,
1,000 a minute in all, 10 updates of a card a second (open.feishu.cn, im-v1 and cardkit-v1)."""
PICTURES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp", "image/bmp"})
DOCUMENTS = {"application/pdf": "pdf", "video/mp4": "mp4"}
TOO_OLD = "This message is too old; please write your answer."
SENDING = "/im/v1/messages"


@dataclass(frozen=True, slots=True)
class _Parts:
    """What talks to Feishu."""

    api: Api
    socket: Socket
    receiving: Receiving
    cards: Cards


class FeishuWire(Wire):
    """Feishu. A chat is ``CHAT`` or ``CHAT:THREAD``."""

    can = frozenset({"edits", "files", "typing", "voice", "reactions", "threads"})
    catches_up = True

    def __init__(self, config: FeishuConfig, host: Host) -> None:
        self._config, self._host = config, host
        self._app, self._secret = account_of(config, host)
        self._made: _Parts | None = None
        self._take: Take | None = None
        self._typing: dict[str, tuple[str, str]] = {}
        """The message that has the reaction for typing, and the reaction's id, by chat."""
        self._has_cards, self._has_begun = True, False
        self.limits = replace(LIMITS, edit_every=config.edit_every)

    @property
    def _parts(self) -> _Parts:
        """What talks to Feishu, made when it is first needed. Raises :class:`CannotStart`."""
        if self._made is None:
            if (fault := fault_of(self._app, self._secret)) is not None:
                raise CannotStart(fault)
            api = Api(self._app, self._secret, self._config.domain)
            socket = Socket(api, self._event, self._heard, self._broken)
            self._made = _Parts(api, socket, Receiving(self._config, api), Cards(self._host, api))
        return self._made

    @property
    def _api(self) -> Api:
        return self._parts.api

    # Receiving

    async def connect(self, take: Take) -> None:
        """Begin to receive. Without a network it begins, and the watchdog goes on."""
        self._take, parts = take, self._parts
        await self.disconnect()
        try:
            parts.receiving.me = str((await self._bot())["open_id"])
            await parts.socket.open()
        except CannotStart:
            raise
        except HooklineError as error:
            if self._has_begun:
                raise
            self._host.log.warning("beginning without Feishu: %s", error)
            take.broken(str(error))
        self._has_begun = True

    async def disconnect(self) -> None:
        """Receive no more."""
        if self._made is not None:
            await self._made.socket.close()

    async def aclose(self) -> None:
        """Close the connections."""
        await self.disconnect()
        if self._made is not None:
            await self._made.api.aclose()

    async def probe(self) -> None:
        """Ping through the long connection."""
        await self._parts.socket.probe()

    def _heard(self) -> None:
        if self._take is not None:
            self._take.heard()

    def _broken(self, reason: str) -> None:
        if self._take is not None:
            self._take.broken(reason)

    async def _event(self, body: Json) -> Any:
        """Store what an event says; what answers a button. Raises if it has to come again."""
        receiving, found, kind, is_press = self._parts.receiving, None, "", False
        try:
            kind, event = str(body["header"].get("event_type")), body.get("event") or {}
            is_press = kind == "card.action.trigger"
            found = await (receiving.press(event) if is_press else receiving.arrival(kind, event))
        except (Gone, Lost, NotFound, Refused) as error:
            self._host.log.info("an event %s is left out: %s", kind, error)
        except HooklineError:
            raise
        except Exception:
            self._host.log.exception("an event %s cannot be read and is left out", kind)
        is_new = self._take is not None and found is not None and await self._take(found)
        if not is_press or is_new:
            return {} if is_press else None
        return {"toast": {"type": "info", "content": TOO_OLD if found is None else PRESSED}}

    async def chats(self) -> Sequence[str]:
        """The groups; private chats are not listed."""
        found = self._parts.receiving.pages("/im/v1/chats", page_size="100")
        return [str(one["chat_id"]) async for one in found]

    def history(self, chat: str, after: str, since: float) -> AsyncIterator[Arrival]:
        """A chat's messages behind ``after``, and those of its threads."""
        return self._parts.receiving.history(chat, after, since)

    async def fetch(self, file: RemoteFile) -> bytes:
        """The bytes of a message's file."""
        message, key, kind = file.ref.split("/")
        return await self._api.read(f"{SENDING}/{message}/resources/{key}", kind)

    # Sending

    async def text(self, chat: str, text: str, post: Post) -> str:
        """Send a post; a card where there are buttons or a table, or where it is to grow."""
        cards = self._parts.cards
        if not post.final and self._has_cards and post.rich:
            try:
                return await self._show(chat, await cards.make(text, post), post)
            except (Refused, BadMarkup) as error:
                every = max(1.5, self._config.edit_every)
                self._has_cards, self.limits = False, replace(LIMITS, edits=20, edit_every=every)
                self._host.log.warning("answers grow by edits, 20 a message: %s", error)
        if post.choices or (post.rich and post.final and content.has_table(text)):
            made = content.card(text, rich=post.rich, choices=post.choices, chat=chat)
            message = await self._send(chat, "interactive", made, post)
            await cards.keep(message, {"text": text, "rich": post.rich})
            return message
        return await self._send(chat, "post", content.post(text, rich=post.rich), post)

    async def _show(self, chat: str, record: Json, post: Post) -> str:
        """Send the message that shows a card; a repeat is the same message."""
        shown = content.dumps({"type": "card", "data": {"card_id": record["card"]}})
        message = await self._send(chat, "interactive", shown, post)
        await self._parts.cards.keep(message, record)
        await self._parts.cards.forget(post.token)
        return message

    async def edit(self, chat: str, message_id: str, text: str, post: Post) -> None:
        """Change a post or a card; the last edit closes a card that grows."""
        cards = self._parts.cards
        if (record := await cards.kept(message_id)) is None:
            body = {"msg_type": "post", "content": content.post(text, rich=post.rich)}
            await self._api.change("PUT", f"{SENDING}/{message_id}", body)
        elif "card" in record and not post.final:
            await cards.grow(record, text, post)
        else:
            await cards.finish(chat, message_id, record, text, post)
        if post.final:
            self._untype(chat)

    async def delete(self, chat: str, message_id: str) -> None:
        """Take a message back."""
        await self._api.change("DELETE", f"{SENDING}/{message_id}")
        await self._parts.cards.forget(message_id)

    async def unbutton(self, chat: str, message_id: str) -> None:
        """Draw a card without its buttons."""
        await self._parts.cards.unbutton(chat, message_id)

    async def file(self, chat: str, item: Attachment | Audio, post: Post) -> str:
        """Send a file: Opus as a voice message, pictures as such, anything else as a file."""
        data = await asyncio.to_thread(item.path.read_bytes)
        name = item.name if isinstance(item, Attachment) else item.path.name
        if item.mime in PICTURES and len(data) <= 10 * MB:
            form, files = {"image_type": "message"}, {"image": (name, data)}
            key = (await self._api.ask("POST", "/im/v1/images", data=form, files=files))[
                "image_key"
            ]
            if post.caption:
                made = content.post(post.caption, rich=False, image=key)
                return await self._send(chat, "post", made, post)
            return await self._send(chat, "image", content.dumps({"image_key": key}), post)
        form, kind = {"file_type": DOCUMENTS.get(item.mime, "stream"), "file_name": name}, "file"
        if isinstance(item, Audio) and (sound := audio_kind(data)) and sound.name == "opus":
            length = round((item.duration or seconds(data)) * 1000)
            form |= {"file_type": "opus", "duration": str(max(1, length))}
            kind = "audio"
        file = {"file": (name, data)}
        key = (await self._api.ask("POST", "/im/v1/files", data=form, files=file))["file_key"]
        if post.caption:
            words = replace(post, token=f"{post.token}c" if post.token else "", final=False)
            await self._send(chat, "post", content.post(post.caption, rich=False), words)
        return await self._send(chat, kind, content.dumps({"file_key": key}), post)

    async def _send(self, chat: str, kind: str, made: str, post: Post) -> str:
        """Send a message: into its thread, as an answer in groups, or just into the chat."""
        place, _, thread = chat.partition(":")
        thread = thread or post.thread or ""
        body: Json = {"msg_type": kind, "content": made}
        body |= {"uuid": post.token} if post.token else {}
        to = post.reply_to or ""
        if not to.startswith("om_") or not (
            thread or await self._parts.receiving.kind_of(place) != "p2p"
        ):
            to = await self._in_thread(thread) if thread else ""
        sent: Json = {}
        try:
            if to:
                try:
                    more = {"reply_in_thread": True} if thread else {}
                    sent = await self._api.ask(
                        "POST", f"{SENDING}/{to}/reply", body | more, sends=True
                    )
                except (Lost, NotFound):  # what it answers is not there any more
                    if thread:
                        raise
            if not sent:
                where = {"receive_id_type": "chat_id"}
                body |= {"receive_id": place}
                sent = await self._api.ask("POST", SENDING, body, sends=True, params=where)
        except NotFound as error:
            raise (BadMarkup if post.rich else Gone)(str(error)) from None
        except Lost as error:
            raise Gone(str(error)) from None
        if post.final:
            self._untype(chat)
        return str(sent["message_id"])

    async def _in_thread(self, thread: str) -> str:
        """A message of a thread, to answer it."""
        query = {"container_id_type": "thread", "container_id": thread, "page_size": "1"}
        async for one in self._parts.receiving.pages(SENDING, **query):
            return str(one["message_id"])
        raise Gone(f"the thread {thread} is not there any more")

    async def find(self, chat: str, token: str, text: str, since: float) -> str | Unknown | None:
        """Feishu drops a repeat of the token for an hour; later, the message is looked for. What
        began to grow is sent again with its token, and is the message that was there, if any."""
        if self._host.now() - since < DEDUPED:
            if text:
                return None
            again = Post(token, final=False)
            if (record := await self._parts.cards.kept(token)) is not None:
                again = replace(again, reply_to=record["reply_to"])
                return await self._show(chat, record, again)
            return await self._send(chat, "post", content.post("…", rich=False), again)
        if not text:
            return UNKNOWN
        wanted = _letters(text)
        async for item in self._parts.receiving.items(chat, int(since * 1000)):
            is_own = (item.get("sender") or {}).get("id") == self._app
            shown = str((item.get("body") or {}).get("content"))
            if is_own and wanted in _letters(shown):
                return str(item["message_id"])
        return None

    # Reactions and threads

    async def typing(self, chat: str) -> None:
        """A reaction to the last message, until it is answered."""
        message = self._parts.receiving.last.get(chat, "")
        if message and self._typing.get(chat, ("", ""))[0] != message:
            self._untype(chat)
            self._typing[chat] = message, ""
            self._host.spawn(self._type(chat, message), "typing")  # not to be cancelled half-way

    async def _type(self, chat: str, message: str) -> None:
        """Set the reaction; one that comes too late goes at once."""
        try:
            reaction = await self._react(message, "Typing")
        except HooklineError as error:
            self._host.log.info("that somebody types is not shown: %s", error)
            return
        if self._typing.get(chat) == (message, ""):
            self._typing[chat] = message, reaction
        else:
            await self._unreact(message, reaction)

    def _untype(self, chat: str) -> None:
        message, reaction = self._typing.pop(chat, ("", ""))
        if reaction:
            self._host.spawn(self._unreact(message, reaction), "typing")

    async def _react(self, message: str, name: str) -> str:
        body = {"reaction_type": {"emoji_type": name}}
        made = await self._api.ask("POST", f"{SENDING}/{message}/reactions", body)
        return str(made["reaction_id"])

    async def _unreact(self, message: str, reaction: str) -> None:
        try:
            await self._api.ask("DELETE", f"{SENDING}/{message}/reactions/{reaction}")
        except HooklineError as error:
            self._host.log.info("a reaction stays: %s", error)

    async def react(self, chat: str, message_id: str, emoji: str | None) -> None:
        """Set the bot's reaction; one that Feishu lacks is shown as OK."""
        kv, key = self._host.storage.kv, f"reaction:{message_id}"
        if (old := await kv.get(key)) is not None:
            await self._unreact(message_id, old)
            await kv.delete(key)
        if emoji is not None:
            names = {shown: name for name, shown in reading.EMOJI.items()}
            await kv.set(key, await self._react(message_id, names.get(emoji, "OK")))

    async def open_thread(self, chat: str, message_id: str) -> str:
        """The thread that is there; else one that begins with an answer."""
        for item in await self._parts.receiving.message(message_id):
            if item.get("thread_id"):
                return str(item["thread_id"])
        body: Json = {"msg_type": "post", "content": content.post("…", rich=False)}
        body |= {"reply_in_thread": True}
        made = await self._api.ask("POST", f"{SENDING}/{message_id}/reply", body, sends=True)
        return str(made.get("thread_id") or "")

    def render(self, markdown: str) -> str:
        """Feishu's Markdown."""
        return content.render(markdown)

    # The app

    @property
    def identity(self) -> str:
        """The app."""
        return f"{self._config.domain} {self._app}" if self._app else ""

    async def _bot(self) -> Json:
        return dict((await self._api.ask("GET", "/bot/v3/info")).get("bot") or {})

    async def whoami(self) -> str:
        """Who the bot is."""
        bot = await self._bot()
        await self._api.endpoint()
        return f"the bot is {bot.get('app_name')}, and may have a long connection"

    async def missing(self) -> Sequence[str]:
        """Scopes that were not granted."""
        told = (await self._api.ask("GET", "/application/v6/scopes")).get("scopes") or ()
        granted = {one.get("scope_name") for one in told if one.get("grant_status") == 1}
        at = f"{self._config.domain}/app/{self._app}/auth"
        return [
            f"the scope {name} is missing ({what}); switch it on under {at} and publish a version"
            for name, what in SCOPES.items()
            if name not in granted
        ]


def _letters(text: str) -> str:
    """What is left of a text whatever a platform makes of its markup."""
    return "".join(one for one in text if one.isalnum())
