"""The Discord client: receives events, reads history, sends messages."""

from __future__ import annotations

import asyncio
import base64
import json
import warnings
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias
from urllib.parse import quote

import hookline_channelkit as kit
from hookline_channelkit import InboundEvent, Limits, Rate, RemoteFile, SendOptions
from hookline_hookspecs import Attachment, Audio, HooklineError, Host, Inbound
from hookline_hookspecs.channels import Feature
from hookline_hookspecs.visible_text import spell_out

from .config import DiscordConfig
from .facts import FACTS, FATAL, first_id, invitation
from .receiver import COMMAND, PASTES, VOICE, WRITTEN, DiscordReceiver, Json, command
from .renderer import DiscordMarkdown

if TYPE_CHECKING:
    from .connection import Connection

SUPPRESS_EMBEDS, EPHEMERAL, ADMINISTRATOR = 1 << 2, 1 << 6, 1 << 3
SETTLE_SECONDS = 5.0
"""Seconds for Discord to report all servers after a login."""
NONCE_SECONDS = 120.0
"""Seconds for which a repeated nonce makes no second message: "the past few minutes"
(discord.com/developers/docs/resources/message#create-message)."""
MAX_CLOCK_SKEW = 60.0
"""Seconds that clocks may differ."""
MAX_EDIT_DELAY = 60.0
"""Seconds for which an edit is delayed at most."""
PAGE_SIZE = 100
SILENT: Json = {"allowed_mentions": {"parse": [], "replied_user": False}}
"""Part of every message, so that it pings no one."""
Read: TypeAlias = Callable[[Json, str], InboundEvent | Inbound | None]
"""Parses an event of a chat."""


class DiscordClient(kit.PollingClient):
    """Discord. A chat is a channel's or thread's id; a private one, the id of its person."""

    can: ClassVar[frozenset[Feature]] = kit.PlatformClient.can | {"voice", "threads", "reactions"}
    renderer = DiscordMarkdown()
    pastes: ClassVar[kit.PasteLimit | None] = PASTES
    has_history = True
    open_timeout = 10.0

    def __init__(self, config: DiscordConfig, host: Host) -> None:
        super().__init__(host, config)
        self._config = config
        self._opening = asyncio.Lock()
        self._started: kit.BoundedDict[tuple[str, str], tuple[InboundEvent, str]]
        self._started = kit.BoundedDict()
        """By channel and person: the last part of a text that may go on, and the thread of the
        text."""
        self._receiver = DiscordReceiver(config)
        self._awaited: set[str] = set()
        """Servers that Discord has not reported yet."""
        self._settled = asyncio.Event()
        self._people = kit.PrivateChats(host)
        self.limits = Limits(
            text=2000,
            measure=lambda text: max(len(text), len(self.render(text))),
            edit_every=config.edit_every,
            overall=40.0,
            rates={"edit": Rate(1.0, 40.0)},
            edit_seconds=3000.0,
            typing_every=8.0,
            file_bytes=10 << 20,
            choices=25,
        )

    @property
    def identity(self) -> str:
        """The API's address and the token."""
        token = self.account["token"]
        return f"{self._config.api_url} {token}" if token else ""

    @kit.lazy_client
    def _connection(self) -> Connection:
        """The connection to Discord."""
        with warnings.catch_warnings():  # the library imports what Python 3.13 lacks
            warnings.simplefilter("ignore", DeprecationWarning)
            from .connection import Connection

        read, reader = self._reading, self._receiver
        gone = read(lambda data, chat: reader.deletion(data["id"], chat))
        events: dict[str, Callable[[Any], object]] = {
            "READY": self._ready,
            "RESUMED": lambda _: self._settled.set(),
            "GUILD_CREATE": self._guild,
            "GUILD_DELETE": lambda data: self._settle({data["id"]}),
            **dict.fromkeys(
                ("CHANNEL_CREATE", "THREAD_CREATE", "THREAD_UPDATE"), reader.add_channel
            ),
            "MESSAGE_CREATE": read(self._message),
            "MESSAGE_UPDATE": read(reader.edit),
            "MESSAGE_REACTION_ADD": read(reader.reaction),
            "MESSAGE_DELETE": gone,
            "MESSAGE_DELETE_BULK": lambda data: [gone({**data, "id": id_}) for id_ in data["ids"]],
            "INTERACTION_CREATE": read(reader.interaction),
        }
        return Connection(
            self._config, self.account["token"], self.poll_loop, events, self.heartbeat
        )

    async def _ask(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        return await self._connection.ask(method, path, body, **more)

    # Receiving

    async def authenticate(self) -> None:
        """Log in to Discord."""
        known = await self._people.all()
        self._receiver.people |= {channel: person for person, channel in known.items()}
        await self._connection.client()

    async def listen(self, receive: kit.ReceiveCallback) -> None:
        """Start receiving; returns once all servers are known, or after a timeout."""
        self._settled.clear()
        await super().listen(receive)
        with suppress(TimeoutError):
            async with asyncio.timeout(SETTLE_SECONDS):
                await self._settled.wait()

    async def receive_once(self, receive: kit.ReceiveCallback) -> None:
        """Run one session, or a part of one."""
        await self._connection.once()

    async def probe(self) -> None:
        """Check the connection to the gateway. Raises if there is no answer."""
        await self._connection.probe()

    def _ready(self, data: Json) -> None:
        """Handle a new session. Missed messages of a chat are read before new ones, and those of
        all chats once the servers have reported them."""
        self._receiver.me = data["user"]["id"]
        self._awaited = {one["id"] for one in data.get("guilds") or ()}
        if self._settled.is_set() and self.receive is not None:
            self.receive.reconnected()
        asyncio.get_running_loop().call_later(SETTLE_SECONDS, self._settle, self._awaited)
        self._settle(set())

    def _guild(self, data: Json) -> None:
        self._receiver.add_guild(data)
        self._settle({data["id"]})

    def _settle(self, reported: set[str]) -> None:
        """Record servers as known, or as timed out."""
        was, self._awaited = bool(self._awaited), self._awaited - reported
        if was and not self._awaited and self._settled.is_set() and self.receive is not None:
            self.receive.reconnected()
        if not self._awaited:
            self._settled.set()

    def _reading(self, read: Read) -> Callable[[Json], object]:
        """Return a handler that reads and stores events, started in their order."""
        return lambda data: self.host.spawn(self._hear(read, data), "store")

    async def _hear(self, read: Read, data: Json) -> None:
        """Store an event, and acknowledge a press or command: Discord allows 3 s for it."""
        assert self.receive is not None
        try:
            is_new = await kit.receive_event(self.receive, self._read(read, data), self.host.log)
        except Exception as error:  # catching up will find it; a press shows the failure
            self.host.log.warning("cannot store an event: %s", error)
            return
        if "token" in data and is_new is not None:
            await self._acknowledge(data, is_new)

    async def _read(self, read: Read, data: Json) -> InboundEvent | Inbound | None:
        chat = self._receiver.chat_of(data)
        if not chat or (found := read(data, chat)) is None:
            return None
        if chat not in self._receiver.places:
            await self._know(chat, data["channel_id"])
        return await self._in_thread(found) if isinstance(found, InboundEvent) else found

    def _message(self, data: Json, chat: str) -> InboundEvent | None:
        """Parse a message. One that is not for the bot is marked as read."""
        found = self._receiver.message(data, chat)
        if found is None and self.receive is not None:
            self.host.spawn(self.receive.skip(chat, data["id"]), "skip")
        return found

    async def _acknowledge(self, data: Json, is_new: bool) -> None:
        is_command = data["type"] == COMMAND
        text = f"`{command(data)[:100]}`" if is_command else kit.ALREADY_PRESSED
        answer: Json = {"type": 4, "data": {"content": text, "flags": EPHEMERAL, **SILENT}}
        if is_new and not is_command:
            answer = {"type": 6}
        try:
            path = f"/interactions/{data['id']}/{data['token']}/callback"
            await self._ask("POST", path, answer)
        except HooklineError as error:
            self.host.log.info("cannot acknowledge an interaction: %s", error)

    async def _in_thread(self, arrival: InboundEvent) -> InboundEvent:
        """Move a message to a new thread that starts with it, if config says so.

        The rest of a text that was sent in parts belongs to the thread of its first part.
        """
        inbound = arrival.inbound
        if not self._config.threads or inbound.private or inbound.thread:
            return arrival
        around = inbound.chat_id
        async with self._opening:  # the rest may come while the thread is being opened
            writer = around, inbound.user_id
            before, thread = self._started.pop(writer, (None, ""))
            if before is None or not PASTES.continues(before, arrival):
                try:
                    thread = await self.open_thread(around, inbound.message_id)
                except HooklineError as error:
                    self.host.log.warning("cannot start a thread: %s", error)
                    return arrival
            if PASTES.may_go_on(arrival):
                self._started[writer] = arrival, thread
        inbound = replace(inbound, chat_id=thread, thread=thread, parent=around)
        return replace(arrival, inbound=inbound, source=around)

    # Catching up

    async def list_chats(self) -> Sequence[str]:
        """Return every channel, open thread and known private chat."""
        return [*self._receiver.places, *await self._people.all()]

    async def history(self, chat: str, after: str, since: float) -> AsyncIterator[InboundEvent]:
        """Yield messages of people in a chat, oldest first."""
        place, start = self._receiver.places.get(chat), after or str(first_id(since))
        if place is None or place.last > int(start):
            try:
                async for message in self._messages(await self._place(chat), start):
                    start = message["id"]
                    if (arrival := self._receiver.message(message, chat)) is not None:
                        yield await self._in_thread(arrival)
            except kit.PermissionDenied as error:  # a channel that the bot may not read
                raise kit.ChatGone(str(error)) from None
        if start != after and self.receive is not None:
            self.host.spawn(self.receive.skip(chat, start), "skip")

    async def _messages(self, channel: str, after: str) -> AsyncIterator[Json]:
        """Yield the messages of a channel, oldest first."""
        page: list[Json] = [{}] * PAGE_SIZE
        while len(page) == PAGE_SIZE:
            page = await self._ask(
                "GET", f"/channels/{channel}/messages?limit={PAGE_SIZE}&after={after}"
            )
            for message in reversed(page):
                after = message["id"]
                yield message

    async def fetch_file(self, file: RemoteFile) -> bytes:
        """Return the bytes of a file; an expired address is renewed."""
        channel, message, id_, url = file.ref.split(" ", 3)
        try:
            return await self._connection.download(url)
        except (kit.ChatGone, kit.PermissionDenied):
            found = await self._ask("GET", f"/channels/{channel}/messages/{message}")
            for one in found.get("attachments") or ():
                if one["id"] == id_:
                    return await self._connection.download(one["url"])
            raise

    # Places

    async def _know(self, person: str, channel: str) -> None:
        """Store the channel of a person's private chat."""
        self._receiver.people[channel] = person
        await self._people.add(person, channel)

    async def _place(self, chat: str) -> str:
        """Return Discord's channel of a chat; an unknown private one is opened."""
        if chat in self._receiver.places or not chat.isdigit():
            return chat
        if chat not in await self._people.all():
            try:
                made = await self._ask("POST", "/users/@me/channels", {"recipient_id": chat})
            except kit.ChatGone:  # not a person: an archived thread or a deleted channel
                return chat
            await self._know(chat, made["id"])
        return (await self._people.all())[chat]

    async def _path(self, chat: str, id_: str) -> str:
        return f"/channels/{await self._place(chat)}/messages/{id_}"

    # Sending

    async def _post(
        self, chat: str, options: SendOptions, body: Json, file: kit.Upload | None = None
    ) -> str:
        """Send a message with or without a file; an archived thread is opened again."""
        from .errors import Archived

        channel = options.thread or await self._place(chat)
        body = {**body, **SILENT, "nonce": options.token, "enforce_nonce": bool(options.token)}
        answered, is_shared = (
            options.reply_to or "",
            chat in self._receiver.places and not options.thread,
        )
        if is_shared and answered.isdigit():
            body["message_reference"] = {"message_id": answered, "fail_if_not_exists": False}
        form: list[Json] = [{"name": "payload_json", "value": json.dumps(body)}]
        if file is not None:
            form.append({"name": "files[0]", "value": file.data, "filename": file.name})
        path, more = f"/channels/{channel}/messages", {"form": form if file else None}
        try:
            made = await self._ask("POST", path, body, sends=True, **more)
        except Archived:
            await self._ask("PATCH", f"/channels/{channel}", {"archived": False})
            made = await self._ask("POST", path, body, sends=True, **more)
        return str(made["id"])

    async def send_text(self, chat: str, text: str, options: SendOptions) -> str:
        """Send a message and return its id."""
        return await self._post(chat, options, _body(text, options))

    async def edit_message(
        self, chat: str, message_id: str, text: str, options: SendOptions
    ) -> None:
        """Replace a message."""
        try:
            path = await self._path(chat, message_id)
            await self._ask("PATCH", path, {**_body(text, options), **SILENT})
        except kit.RetryAfter as error:
            if (
                error.retry_after > MAX_EDIT_DELAY and error.scope == "chat"
            ):  # edited too often for its age
                raise kit.MessageGone(str(error)) from None
            raise

    async def delete_message(self, chat: str, message_id: str) -> None:
        """Remove a message."""
        await self._ask("DELETE", await self._path(chat, message_id))

    async def remove_buttons(self, chat: str, message_id: str) -> None:
        """Remove the buttons of a message."""
        await self._ask("PATCH", await self._path(chat, message_id), {"components": []})

    async def send_file(self, chat: str, item: Attachment | Audio, options: SendOptions) -> str:
        """Send a file: OGG/Opus as a voice message if that is allowed."""
        upload = await kit.Upload.of(item)
        if upload.is_opus and not options.caption:
            try:
                return await self._voice(chat, upload, options)
            except kit.PermissionDenied as error:
                self.host.log.warning("sending a voice message as a file: %s", error)
        return await self._post(chat, options, _body(options.caption, options), upload)

    async def _voice(self, chat: str, sound: kit.Upload, options: SendOptions) -> str:
        """Send a voice message, which refers to a recording uploaded before."""
        named = {"id": "0", "filename": "voice-message.ogg"}
        path = f"/channels/{options.thread or await self._place(chat)}/attachments"
        slots = await self._ask("POST", path, {"files": [{**named, "file_size": len(sound.data)}]})
        (slot,) = slots["attachments"]
        await self._connection.upload(slot["upload_url"], sound.data)
        about = {
            **named,
            "uploaded_filename": slot["upload_filename"],
            "duration_secs": max(0.1, sound.seconds),
            "waveform": base64.b64encode(sound.waveform[:256] or b"\0").decode(),
        }
        return await self._post(chat, options, {"flags": VOICE, "attachments": [about]})

    async def find_message(self, chat: str, token: str, text: str, since: float) -> str | None:
        """Find a message of the bot by its nonce, or by its text once Discord has dropped that."""
        same = None
        if not self._receiver.me:
            self._receiver.me = (await self._ask("GET", "/users/@me"))["id"]
        async for one in self._messages(
            await self._place(chat), str(first_id(since - MAX_CLOCK_SKEW))
        ):
            if one["author"]["id"] != self._receiver.me or one.get("type", 0) not in WRITTEN:
                continue
            if one.get("nonce") == token:
                return str(one["id"])
            is_same = one.get("content") == text.strip() and (text or one.get("attachments"))
            same = same or (one["id"] if is_same and not one.get("nonce") else None)
        return same if self.host.now() - since > NONCE_SECONDS else None

    async def show_typing(self, chat: str) -> None:
        """Show the typing indicator for 10 s."""
        await self._ask("POST", f"/channels/{await self._place(chat)}/typing")

    async def react(self, chat: str, message_id: str, emoji: str) -> str:
        """React to a message."""
        await self._ask("PUT", f"{await self._path(chat, message_id)}/reactions/{quote(emoji)}/@me")
        return emoji

    async def remove_reaction(self, chat: str, message_id: str, reaction: str) -> None:
        """Remove a reaction."""
        path = await self._path(chat, message_id)
        await self._ask("DELETE", f"{path}/reactions/{quote(reaction)}/@me")

    async def open_thread(self, chat: str, message_id: str) -> str:
        """Start a thread at a message, or return the existing one; it has the message's id."""
        if message_id in self._receiver.places:
            return message_id
        path = await self._path(chat, message_id)
        words = self._receiver.words_of(await self._ask("GET", path)).split()
        try:
            made = await self._ask("POST", f"{path}/threads", {"name": " ".join(words)[:80] or "…"})
        except kit.ChatGone as error:
            if "160004" not in str(error):
                raise
            return message_id
        self._receiver.add_channel(made, self._receiver.places[chat].guild)
        return str(made["id"])

    async def private_chat(self, person: str) -> str | None:
        """Return the private chat with a person, whose id is the person's."""
        return person if await self._place(person) != person else None

    # The account

    async def whoami(self) -> str:
        """Return who the token belongs to, and the link that adds the bot to a server."""
        user, link = await self._ask("GET", "/users/@me"), invitation(await self._application())
        return f"the bot is {user['username']}; to add it to a server, open {link}"

    async def _application(self) -> str:
        return str((await self._ask("GET", "/applications/@me"))["id"])

    async def missing_permissions(self) -> Sequence[str]:
        """Return the intent that is off, and the permissions that the bot lacks in each server."""
        from .connection import CONTENT_FLAGS

        application = await self._ask("GET", "/applications/@me")
        found = [] if application.get("flags", 0) & CONTENT_FLAGS else [FATAL["4014"]]
        guilds, link = await self._ask("GET", "/users/@me/guilds"), invitation(application["id"])
        if not guilds:
            found.append(f"the bot is not in any server; to add it to one, open {link}")
        for guild in guilds:
            has = int(guild.get("permissions") or 0)
            all_ = FACTS["permissions"].items()
            lacks = ", ".join(name for name, bit in all_ if not has & (1 << bit | ADMINISTRATOR))
            if lacks:
                where = f"the bot lacks {lacks} in the server {guild.get('name')}"
                found.append(f"{where}; give its role these permissions, or add it with {link}")
        return found

    async def set_commands(self, commands: Mapping[str, str]) -> None:
        """Set the commands of the slash menu."""
        rest = {"type": 3, "name": "text", "description": "Text after the command"}
        places = {"integration_types": [0], "contexts": [0, 1]}  # servers, and the bot's own chats
        menu = [
            {"name": name, "description": help_[:100] or name, "type": 1, "options": [rest]}
            | places
            for name, help_ in commands.items()
        ]
        await self._ask(
            "PUT", f"/applications/{await self._application()}/commands", menu[:PAGE_SIZE]
        )


def _body(text: str, options: SendOptions) -> Json:
    """Return a message's text and buttons, five in a row; a pressed button sends its number."""
    buttons = [
        {
            "type": 2,
            "style": 2,
            "label": spell_out(choice.label).strip()[:80] or "…",
            "custom_id": str(number),
        }
        for number, choice in enumerate(options.choices)
    ]
    rows = [{"type": 1, "components": buttons[at : at + 5]} for at in range(0, len(buttons), 5)]
    return {"content": text, "flags": SUPPRESS_EMBEDS, "components": rows}
