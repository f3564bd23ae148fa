"""The connection that the kit drives: chats by name, what happens there, and what is sent."""

from __future__ import annotations

import asyncio
import base64
import json
import warnings
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import quote

import hookline_channelkit as kit
from hookline_channelkit import Arrival, Limits, Post, Rate, RemoteFile
from hookline_hookspecs import Attachment, Audio, HooklineError, Host, Inbound
from hookline_hookspecs.host import Feature
from hookline_speech import seconds

from .config import DiscordConfig, fault_of, token_of
from .facts import FACTS, first_id, invitation
from .painter import DiscordMarkdown
from .reading import VOICE, WRITTEN, Json, Reader

if TYPE_CHECKING:
    from .connection import Connection

SUPPRESS_EMBEDS, EPHEMERAL, ADMINISTRATOR = 1 << 2, 1 << 6, 1 << 3
CONNECT_SECONDS, SETTLE_SECONDS = 10.0, 5.0
"""For the first session, without which the loop goes on; and for all servers to be told of."""
NONCE_SECONDS = 120.0
"""For which a repeated nonce surely makes no second message: "the past few minutes"
(discord.com/developers/docs/resources/message#create-message)."""
LATE = 60.0
"""Seconds that clocks may differ, and beyond which an edit is not waited for."""
PAGE = 100
PEOPLE = "people"
"""Where the channels of private chats are, in the plugin's key-value storage."""
SILENT: Json = {"allowed_mentions": {"parse": [], "replied_user": False}}
"""In everything that is sent: it pings nobody."""
_PAINTER = DiscordMarkdown()


class DiscordWire(kit.Wire):
    """Discord. A chat is a channel's or thread's id; a private one, the id of its person."""

    can: ClassVar[frozenset[Feature]] = frozenset(
        {"edits", "files", "typing", "voice", "threads", "reactions"}
    )
    catches_up = True

    def __init__(self, config: DiscordConfig, host: Host) -> None:
        self._config, self._host = config, host
        self._reader = Reader(config)
        self._made: Connection | None = None
        self._receiving: asyncio.Task[None] | None = None
        self._take: kit.Take | None = None
        self._awaited: set[str] = set()
        """Servers that are still to be told of."""
        self._settled = asyncio.Event()
        self._people: dict[str, str] | None = None
        """Channels of private chats, by person."""
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
        """The token."""
        return token_of(self._config, self._host)

    def _connection(self) -> Connection:
        """What talks to Discord, made when it is first needed. Raises :class:`CannotStart`."""
        if self._made is None:
            if (fault := fault_of(self.identity)) is not None:
                raise kit.CannotStart(fault)
            with warnings.catch_warnings():  # the library imports what Python 3.13 lacks
                warnings.simplefilter("ignore", DeprecationWarning)
                from .connection import Connection

            read, reader = self._reading, self._reader
            events: dict[str, Callable[[Any], None]] = {
                "READY": self._ready,
                "RESUMED": lambda _: self._settled.set(),
                "GUILD_CREATE": self._guild,
                "GUILD_DELETE": lambda data: self._settle({data["id"]}),
                **dict.fromkeys(("CHANNEL_CREATE", "THREAD_CREATE", "THREAD_UPDATE"), reader.room),
                "MESSAGE_CREATE": read(lambda data, chat: reader.message(data, chat) or data["id"]),
                "MESSAGE_UPDATE": read(reader.edit),
                "MESSAGE_REACTION_ADD": read(reader.reaction),
                "MESSAGE_DELETE": read(lambda data, _: reader.deletion(data["id"])),
                "INTERACTION_CREATE": read(reader.interaction),
            }
            log = self._host.log
            self._made = Connection(self._config, self.identity, log, events, self._alive)
        return self._made

    def _alive(self) -> None:
        if self._take is not None:
            self._take.heard()

    async def _ask(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        return await self._connection().ask(method, path, body, **more)

    # Receiving

    async def connect(self, take: kit.Take) -> None:
        """Begin to receive. Raises :class:`CannotStart` for a token that Discord does not know;
        without a network it begins, and goes on as soon as there is one."""
        connection = self._connection()
        await self.disconnect()
        await self._known()
        self._take = take
        self._settled.clear()
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await connection.client()
        except kit.CannotStart:
            raise
        except (HooklineError, TimeoutError) as error:
            self._host.log.warning("beginning without Discord: %s", error or "no answer")
        task = self._receiving = self._host.spawn(connection.run(), "receive")
        settled = asyncio.ensure_future(self._settled.wait())
        first = asyncio.FIRST_COMPLETED
        await asyncio.wait({task, settled}, timeout=CONNECT_SECONDS, return_when=first)
        settled.cancel()
        if task.done():
            task.result()
        task.add_done_callback(lambda ended: _tell_if_broken(ended, take))

    async def disconnect(self) -> None:
        """Receive no more; the session can be resumed for a while."""
        task, self._receiving = self._receiving, None
        if task is not None:
            task.cancel()
            await asyncio.wait({task})

    async def aclose(self) -> None:
        """Close the connections."""
        await self.disconnect()
        if self._made is not None:
            await self._made.aclose()

    async def probe(self) -> None:
        """Ask for a sign of life over the gateway. Raises if there is none."""
        if self._receiving is None or self._receiving.done():
            raise kit.WireError("nobody receives")
        await self._connection().probe()

    def _ready(self, data: Json) -> None:
        """A session that is no resume. What was missed is read back before anything new of a chat;
        and for all chats, once the servers have told theirs."""
        self._reader.me = data["user"]["id"]
        self._awaited = {one["id"] for one in data.get("guilds") or ()}
        if self._settled.is_set() and self._take is not None:
            self._take.reconnected()
        asyncio.get_running_loop().call_later(SETTLE_SECONDS, self._settle, self._awaited)
        self._settle(set())

    def _guild(self, data: Json) -> None:
        self._reader.guild(data)
        self._settle({data["id"]})

    def _settle(self, told: set[str]) -> None:
        """Servers are known, or have had their time."""
        was, self._awaited = bool(self._awaited), self._awaited - told
        if was and not self._awaited and self._settled.is_set() and self._take is not None:
            self._take.reconnected()
        if not self._awaited:
            self._settled.set()

    def _reading(self, read: Callable[[Json, str], Any]) -> Callable[[Json], None]:
        """What reads an event and has it stored; what cannot be read is left out."""

        def hear(data: Json) -> None:
            try:
                if (chat := self._reader.chat_of(data)) and (found := read(data, chat)):
                    self._host.spawn(self._store(found, data, chat), "store")
                    if chat not in self._reader.places:
                        self._host.spawn(self._know(chat, data["channel_id"]), "remember")
            except Exception:
                self._host.log.exception("an event cannot be read and is left out")

        return hear

    async def _store(self, found: Arrival | Inbound | str, data: Json, chat: str) -> None:
        """Have an arrival stored, and a press or command acknowledged, for which Discord waits 3 s.
        ``found`` is a message's id, if it is not for the bot."""
        assert self._take is not None
        try:
            if isinstance(found, str):
                await self._take.skip(chat, found)
                return
            if isinstance(found, Arrival):
                found = await self._in_thread(found)
            is_new = await self._take(found)
        except Exception as error:  # it is found by catching up; a press shows that it failed
            self._host.log.warning("something could not be stored: %s", error)
            return
        if "token" in data and isinstance(found, Inbound):
            await self._acknowledge(found, data, is_new)

    async def _acknowledge(self, inbound: Inbound, data: Json, is_new: bool) -> None:
        told = f"`{inbound.text[:100]}`" if inbound.kind == "command" else kit.PRESSED
        answer: Json = {"type": 4, "data": {"content": told, "flags": EPHEMERAL, **SILENT}}
        if inbound.kind == "press" and is_new:
            answer = {"type": 6}
        try:
            path = f"/interactions/{data['id']}/{data['token']}/callback"
            await self._ask("POST", path, answer)
        except HooklineError as error:
            self._host.log.info("a press could not be acknowledged: %s", error)

    async def _in_thread(self, arrival: Arrival) -> Arrival:
        """The message in a thread that begins with it, where config wants that."""
        inbound = arrival.inbound
        if not self._config.threads or inbound.private or inbound.thread:
            return arrival
        try:
            thread = await self.open_thread(inbound.chat_id, inbound.message_id)
        except HooklineError as error:
            self._host.log.warning("no thread could be begun: %s", error)
            return arrival
        around = inbound.chat_id
        inbound = replace(inbound, chat_id=thread, thread=thread, parent=around)
        return replace(arrival, inbound=inbound, source=around)

    # Catching up

    async def chats(self) -> Sequence[str]:
        """Every channel and open thread, and every private chat that was ever heard of."""
        return [*self._reader.places, *await self._known()]

    async def history(self, chat: str, after: str, since: float) -> AsyncIterator[Arrival]:
        """What people wrote in a chat, oldest first."""
        place, start = self._reader.places.get(chat), after or str(first_id(since))
        if place is None or place.last > int(start):
            try:
                async for message in self._messages(await self._place(chat), start):
                    start = message["id"]
                    if (arrival := self._reader.message(message, chat)) is not None:
                        yield await self._in_thread(arrival)
            except (kit.Refused, kit.Gone) as error:  # a channel that the bot is not let into
                self._host.log.info("chat %s cannot be read back: %s", chat, error)
                return
        if start != after and self._take is not None:
            self._host.spawn(self._take.skip(chat, start), "skip")

    async def _messages(self, channel: str, after: str) -> AsyncIterator[Json]:
        """Messages of a channel, oldest first."""
        page: list[Json] = [{}] * PAGE
        while len(page) == PAGE:
            page = await self._ask(
                "GET", f"/channels/{channel}/messages?limit={PAGE}&after={after}"
            )
            for message in reversed(page):
                after = message["id"]
                yield message

    async def fetch(self, file: RemoteFile) -> bytes:
        """A file; its address is asked for anew where it has expired."""
        channel, message, id_, url = file.ref.split(" ", 3)
        try:
            return await self._connection().download(url)
        except (kit.Gone, kit.Refused):
            told = await self._ask("GET", f"/channels/{channel}/messages/{message}")
            for one in told.get("attachments") or ():
                if one["id"] == id_:
                    return await self._connection().download(one["url"])
            raise

    # Places

    async def _known(self) -> dict[str, str]:
        """Channels of private chats, by person."""
        if self._people is None:
            self._people = dict(await self._host.storage.kv.get(PEOPLE, {}))
            self._reader.people |= {channel: person for person, channel in self._people.items()}
        return self._people

    async def _know(self, person: str, channel: str) -> None:
        """Remember where a private chat is, for good."""
        known = await self._known()
        if known.get(person) != channel:
            known[person], self._reader.people[channel] = channel, person
            await self._host.storage.kv.set(PEOPLE, known)

    async def _place(self, chat: str) -> str:
        """Discord's channel of a chat; a private one is opened, if it was never heard of."""
        if chat in self._reader.places or not chat.isdigit():
            return chat
        if chat not in (known := await self._known()):
            try:
                made = await self._ask("POST", "/users/@me/channels", {"recipient_id": chat})
            except kit.Gone:  # no person: an archived thread, or a channel that is gone
                return chat
            await self._know(chat, made["id"])
        return known[chat]

    async def _message(self, chat: str, id_: str) -> str:
        return f"/channels/{await self._place(chat)}/messages/{id_}"

    # Sending

    async def _post(
        self, chat: str, post: Post, body: Json, data: bytes = b"", name: str = ""
    ) -> str:
        """Send a message, with a file; in a thread that was archived, after opening it again."""
        from .errors import Archived

        channel = post.thread or await self._place(chat)
        body = {**body, **SILENT, "nonce": post.token, "enforce_nonce": bool(post.token)}
        answered, is_shared = post.reply_to or "", chat in self._reader.places and not post.thread
        if is_shared and answered.isdigit():
            body["message_reference"] = {"message_id": answered, "fail_if_not_exists": False}
        form = [{"name": "payload_json", "value": json.dumps(body)}]
        form += [{"name": "files[0]", "value": data, "filename": name}] if data else []  # type: ignore[dict-item]
        for is_last in (False, True):
            try:
                path, sent = f"/channels/{channel}/messages", form if data else None
                made = await self._ask("POST", path, body, form=sent, unsure=True)
                break
            except Archived:
                if is_last:
                    raise
                await self._ask("PATCH", f"/channels/{channel}", {"archived": False})
        return str(made["id"])

    async def text(self, chat: str, text: str, post: Post) -> str:
        """Send a message; its id."""
        return await self._post(chat, post, _body(text, post))

    async def edit(self, chat: str, message_id: str, text: str, post: Post) -> None:
        """Replace a message."""
        try:
            path = await self._message(chat, message_id)
            await self._ask("PATCH", path, {**_body(text, post), **SILENT})
        except kit.RetryAfter as error:
            if error.retry_after > LATE and error.scope == "chat":  # edited too often for its age
                raise kit.Lost(str(error)) from None
            raise

    async def delete(self, chat: str, message_id: str) -> None:
        """Remove a message."""
        await self._ask("DELETE", await self._message(chat, message_id))

    async def unbutton(self, chat: str, message_id: str) -> None:
        """Take a message's buttons away."""
        await self._ask("PATCH", await self._message(chat, message_id), {"components": []})

    async def file(self, chat: str, item: Attachment | Audio, post: Post) -> str:
        """Send a file: OGG/Opus as a voice message, where that is allowed."""
        data = await asyncio.to_thread(item.path.read_bytes)
        is_opus = data.startswith(b"OggS") and b"OpusHead" in data[:200]
        if isinstance(item, Audio) and is_opus and not post.caption:
            try:
                return await self._voice(chat, item, data, post)
            except kit.Refused as error:
                self._host.log.warning("a voice message is sent as a file: %s", error)
        name = item.name if isinstance(item, Attachment) else item.path.name
        return await self._post(chat, post, _body(post.caption, post), data, name)

    async def _voice(self, chat: str, item: Audio, data: bytes, post: Post) -> str:
        """A bubble: a slot is asked for, filled, and named by the message."""
        named = {"id": "0", "filename": "voice-message.ogg"}
        path = f"/channels/{post.thread or await self._place(chat)}/attachments"
        told = await self._ask("POST", path, {"files": [{**named, "file_size": len(data)}]})
        (slot,) = told["attachments"]
        await self._connection().upload(slot["upload_url"], data)
        about = {
            **named,
            "uploaded_filename": slot["upload_filename"],
            "duration_secs": max(0.1, item.duration or seconds(data)),
            "waveform": base64.b64encode(item.waveform[:256] or b"\0").decode(),
        }
        return await self._post(chat, post, {"flags": VOICE, "attachments": [about]})

    async def find(self, chat: str, token: str, text: str, since: float) -> str | None:
        """Look for a message of the bot by its nonce; Discord forgets that, then by its words."""
        same = None
        if not self._reader.me:
            self._reader.me = (await self._ask("GET", "/users/@me"))["id"]
        async for one in self._messages(await self._place(chat), str(first_id(since - LATE))):
            if one["author"]["id"] != self._reader.me or one.get("type", 0) not in WRITTEN:
                continue
            if one.get("nonce") == token:
                return str(one["id"])
            is_same = one.get("content") == text.strip() and (text or one.get("attachments"))
            same = same or (one["id"] if is_same and not one.get("nonce") else None)
        return same if self._host.now() - since > NONCE_SECONDS else None

    async def typing(self, chat: str) -> None:
        """Show for 10 s that somebody writes."""
        await self._ask("POST", f"/channels/{await self._place(chat)}/typing")

    async def react(self, chat: str, message_id: str, emoji: str | None) -> None:
        """Set the bot's reaction to a message."""
        path = await self._message(chat, message_id)
        for one in (await self._ask("GET", path)).get("reactions") or ():
            if one.get("me") and one["emoji"]["name"] != emoji:
                await self._ask("DELETE", f"{path}/reactions/{quote(one['emoji']['name'])}/@me")
        if emoji is not None:
            await self._ask("PUT", f"{path}/reactions/{quote(emoji)}/@me")

    async def open_thread(self, chat: str, message_id: str) -> str:
        """Begin a thread at a message, or find the one that is there: it has the message's id."""
        if message_id in self._reader.places:
            return message_id
        path = await self._message(chat, message_id)
        words = self._reader.words_of(await self._ask("GET", path)).split()
        try:
            made = await self._ask("POST", f"{path}/threads", {"name": " ".join(words)[:80] or "…"})
        except kit.Gone as error:
            if "160004" not in str(error):
                raise
            return message_id
        self._reader.room(made, self._reader.places[chat].guild)
        return str(made["id"])

    async def private_chat(self, person: str) -> str | None:
        """The chat with a person alone, which is named after them."""
        return person if await self._place(person) != person else None

    def render(self, markdown: str) -> str:
        """Discord's Markdown."""
        return kit.paint(markdown, _PAINTER)

    # The account

    async def whoami(self) -> str:
        """Who the token belongs to, and how the bot is let into a server."""
        user, link = await self._ask("GET", "/users/@me"), invitation(await self._application())
        return f"the bot is {user['username']}; to let it into a server, open {link}"

    async def _application(self) -> str:
        return str((await self._ask("GET", "/applications/@me"))["id"])

    async def missing(self) -> Sequence[str]:
        """The intent that is off, and permissions that the bot lacks in a server."""
        from .connection import CONTENT_FLAGS

        application = await self._ask("GET", "/applications/@me")
        found = [] if application.get("flags", 0) & CONTENT_FLAGS else [FACTS["fatal"]["4014"]]
        guilds, link = await self._ask("GET", "/users/@me/guilds"), invitation(application["id"])
        if not guilds:
            found.append(f"the bot is in no server; to let it into one, open {link}")
        for guild in guilds:
            has = int(guild.get("permissions") or 0)
            all_ = FACTS["permissions"].items()
            lacks = ", ".join(name for name, bit in all_ if not has & (1 << bit | ADMINISTRATOR))
            if lacks:
                where = f"in the server {guild.get('name')} the bot lacks {lacks}"
                found.append(f"{where}; give its role that there, or let it in again with {link}")
        return found

    async def set_menu(self, commands: Mapping[str, str]) -> None:
        """Show the commands in the menu that opens with a slash."""
        rest = {"type": 3, "name": "text", "description": "What stands behind the command"}
        places = {"integration_types": [0], "contexts": [0, 1]}  # servers, and the bot's own chats
        menu = [
            {"name": name, "description": help_[:100] or name, "type": 1, "options": [rest]}
            | places
            for name, help_ in commands.items()
        ]
        await self._ask("PUT", f"/applications/{await self._application()}/commands", menu[:PAGE])


def _tell_if_broken(ended: asyncio.Task[None], take: kit.Take) -> None:
    if not ended.cancelled():
        take.broken(str(ended.exception() or "receiving has ended"))


def _body(text: str, post: Post) -> Json:
    """A message's words and buttons, five in a row; what a button says is its number."""
    buttons = [
        {"type": 2, "style": 2, "label": choice.label.strip()[:80] or "…", "custom_id": str(number)}
        for number, choice in enumerate(post.choices)
    ]
    rows = [{"type": 1, "components": buttons[at : at + 5]} for at in range(0, len(buttons), 5)]
    return {"content": text, "flags": SUPPRESS_EMBEDS, "components": rows}
