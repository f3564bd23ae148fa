"""The Slack client.

A chat is ``CHANNEL``, or ``CHANNEL:THREAD`` with the ``ts`` of the message that starts the thread.
A message is ``CHANNEL:TS``.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from functools import cached_property
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, ClassVar

import hookline_channelkit as kit
from hookline_channelkit import ChatLocks
from hookline_hookspecs import Attachment, Audio, Feature, HooklineError, Host, Inbound

from . import events
from .config import Json, SlackConfig, data
from .events import escaped, split
from .receiver import SlackReceiver
from .renderer import BUTTONS, MARKDOWN, payload_of, rendered, without_buttons

if TYPE_CHECKING:
    from .api import Api
    from .socket import Acknowledge

CONNECT_TIMEOUT = 10.0
"""Seconds for the first socket; after that the channel keeps trying."""
MIN_EDIT_INTERVAL = 1.2
"""Seconds between two edits in the workspace: 50 a minute
(docs.slack.dev/reference/methods/chat.update)."""
REORDER_SECONDS = 0.05
"""Seconds that an event waits for earlier ones, because two sockets are not read in the order in
which Slack has written to them."""
STREAM_SECONDS = 240.0
"""Seconds after which a new stream is started; Slack ends one after about 306 s."""
PAGE_SIZE = 200
SHARE_TIMEOUT = 20.0
"""Seconds for a file to appear in its channel: Slack shares it some time after its answer."""
CLOCK_SKEW = 60.0
"""Seconds added when searching back, for clocks that differ."""
CLOCK_PRECISION = 2.0
"""Seconds of error for Slack's clock, which has whole seconds."""
DAY = 86_400.0
METADATA_TYPE = "hookline_reply"
"""Type of the metadata with a message's token."""
NO_PREVIEWS = {"unfurl_links": False, "unfurl_media": False}
CHATS = "public_channel,private_channel,mpim,im"


class SlackClient(kit.ListeningClient):
    """The Slack client."""

    can: ClassVar[frozenset[Feature]] = kit.PlatformClient.can | {"reactions", "threads", "voice"}
    has_history = True

    def __init__(self, config: SlackConfig, host: Host) -> None:
        super().__init__(host, config)
        self._config = config
        self._receiver = SlackReceiver(config, host, self._ask, self._thread_before)
        self._pressed: kit.BoundedDict[str, Json] = kit.BoundedDict()
        self._streams: kit.BoundedDict[str, str] = kit.BoundedDict()
        self._commands: kit.BoundedDict[str, str] = kit.BoundedDict()
        """Addresses for answers to commands that were typed in a channel without the bot."""
        self._locks = ChatLocks()
        self._waiting: dict[str, list[Any]] = defaultdict(list)
        self.limits = kit.Limits(
            text=MARKDOWN,
            measure=lambda text: len(rendered(text)),
            edit_every=max(MIN_EDIT_INTERVAL, config.edit_every),
            edit_seconds=STREAM_SECONDS if config.native_streams else None,
            per_chat=1.0,
            rates={"edit": kit.Rate(overall=1 / MIN_EDIT_INTERVAL)},
            typing_every=30.0,  # a status stays for two minutes
            choices=BUTTONS,
            file_bytes=1_000_000_000,
        )

    # The account

    @property
    def identity(self) -> str:
        """The app's token: two gateways with the same one would each receive some messages."""
        token = self.account["app_token"]
        return f"{self._config.api_url} {token}" if token else ""

    @kit.lazy_client
    def _api(self) -> Api:
        """The connection to Slack's API."""
        from .api import Api

        return Api(self._config, **self.account)

    @cached_property
    def _sockets(self) -> kit.SocketPool:
        from .socket import sockets_of

        return sockets_of(self._api, self.host, self._serve)

    async def _ask(self, method: str, **fields: Any) -> Json:
        return await self._api.ask(method, **fields)

    async def whoami(self) -> str:
        """Return who the bot is, and check both tokens."""
        me = await self._ask("auth_test")
        await self._ask("apps_connections_open")
        return f"the bot is @{me.get('user')} in {me.get('team')}"

    async def missing_permissions(self) -> Sequence[str]:
        """Return the scopes that the app lacks."""
        await self._ask("auth_test")
        from .api import missing_scope

        granted, needed = self._api.scopes, data("scopes.json")
        return [missing_scope(scope, why) for scope, why in needed.items() if scope not in granted]

    # Receiving

    async def authenticate(self) -> None:
        """Find out who the bot is."""
        await self._receiver.bot_id()

    async def listen(self, receive: kit.ReceiveCallback) -> None:
        """Open the sockets."""
        self._waiting.clear()
        await self._sockets.start(receive, CONNECT_TIMEOUT)

    async def disconnect(self) -> None:
        """Close the sockets."""
        if "_sockets" in vars(self):
            await self._sockets.stop()

    async def probe(self) -> None:
        """Check the connection. Raises if Slack does not answer or no socket is open."""
        if not self._sockets.is_open:
            raise kit.PlatformError("no socket is open")
        await self._ask("auth_test")

    async def _serve(self, kind: str, payload: Json, acknowledge: Acknowledge) -> None:
        """Store the event of an envelope, in order within a channel, and acknowledge it."""
        self._receiver.note_unfurled(payload)
        place, at = events.order_of(payload)
        heappush(self._waiting[place], (at, id(payload), kind, payload, acknowledge))
        await asyncio.sleep(REORDER_SECONDS if at else 0)
        async with self._locks.of(place):
            await self._store(*heappop(self._waiting[place])[2:])

    async def _store(self, kind: str, payload: Json, acknowledge: Acknowledge) -> None:
        """Store an event, then acknowledge it; Slack sends unacknowledged events again."""
        assert self.receive is not None
        try:
            is_new = await kit.receive_event(self.receive, self._read(kind, payload), self.host.log)
            place = events.place_of(payload) if is_new is None else None
            if place and (":" not in place[0] or await self._receiver.takes_part(place[0])):
                await self.receive.skip(*place)  # not for the bot
        except HooklineError as error:
            self.host.log.warning("cannot store an event: %s", error)
            return
        await acknowledge()

    async def _read(self, kind: str, payload: Json) -> kit.InboundEvent | Inbound | None:
        event: Json = payload.get("event") or {}
        if kind == "interactive" and payload.get("type") == "block_actions":
            found = events.press(payload)
            self._pressed[str(found.target)] = payload["message"]
            return found
        if kind == "slash_commands":
            return await self._commanded(payload)
        me = await self._receiver.bot_id()
        match event.get("type"), event.get("subtype"):
            case (("message" | "app_mention"), ("message_changed" | "message_deleted")):
                return await self._receiver.parse_change(event)
            case (("message" | "app_mention"), _):
                return await self._receiver.parse_message(await self._receiver.unfurled(event))
            case (("reaction_added" | "reaction_removed"), _):
                if event.get("item_user") == me != event.get("user"):
                    item = event["item"]  # which lacks the thread
                    where = {"channel": item["channel"], "ts": item["ts"], "limit": 1}
                    there = (await self._ask("conversations_replies", **where))["messages"][0]
                    return events.reaction(event, there.get("thread_ts") or "")
            case "agent_session_stopped", _:
                return events.stop(event)
        return None

    async def _commanded(self, payload: Json) -> Inbound:
        """Return a slash command.

        One in the direct messages of two people, where the bot cannot answer, counts as typed in
        the person's chat with the bot
        (docs.slack.dev/interactivity/implementing-slash-commands)."""
        command = events.slash(payload)
        if not command.private:
            self._commands[command.message_id] = str(payload.get("response_url") or "")
            return command
        return replace(command, chat_id=await self.private_chat(command.user_id) or "")

    # Catching up

    async def list_chats(self) -> Sequence[str]:
        """Return the channels and direct messages that the bot is in."""
        pages = self._pages("users_conversations", "channels", types=CHATS, exclude_archived=True)
        return [one["id"] async for one in pages]

    async def history(self, chat: str, after: str, since: float) -> AsyncIterator[kit.InboundEvent]:
        """Yield missed messages: a channel's with those in its threads, or a thread's replies."""
        channel, thread = split(chat)
        oldest = float(after or since)
        if thread and not after and float(thread) > self._api.connected + CLOCK_PRECISION:
            return  # it began while the bot was listening
        if thread and oldest < self.host.now() - self._config.thread_days * DAY:
            return
        found = [one async for one in self._written(channel, thread, oldest)]
        for one in sorted(found, key=lambda one: float(one["ts"])):
            if (
                arrival := await self._receiver.parse_message({**one, "channel": channel})
            ) is not None:
                yield arrival

    async def _written(self, channel: str, thread: str, oldest: float) -> AsyncIterator[Json]:
        """Yield messages after ``oldest``; in a channel also those of threads on older ones."""
        look_back = oldest if thread else oldest - DAY
        async for one in self._messages(channel, thread, look_back):
            if float(one["ts"]) > oldest:
                yield one
            if not thread and float(one.get("latest_reply") or 0) > oldest:
                async for reply in self._written(channel, one["ts"], oldest):
                    if reply["ts"] != one["ts"]:
                        yield reply

    def _messages(
        self, channel: str, thread: str | None, oldest: float, **more: Any
    ) -> AsyncIterator[Json]:
        method, ts = "conversations_history", {}
        if thread:
            method, ts = "conversations_replies", {"ts": thread}
        fields = {"channel": channel, "oldest": f"{oldest:.6f}", **ts, **more}
        return self._pages(method, "messages", **fields)

    def _thread_before(self, channel: str, thread: str, ts: str) -> AsyncIterator[Json]:
        """Yield the messages of a thread before ``ts``, oldest first."""
        return self._messages(channel, thread, 0.0, latest=ts)

    async def _pages(self, method: str, field: str, **fields: Any) -> AsyncIterator[Json]:
        """Yield the items of all pages."""
        cursor: str | None = None
        while True:
            page = await self._ask(method, limit=PAGE_SIZE, cursor=cursor, **fields)
            for one in page[field]:
                yield one
            cursor = (page.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                return

    async def fetch_file(self, file: kit.RemoteFile) -> AsyncIterator[bytes]:
        """Return the bytes of a file."""
        found = (await self._ask("files_info", file=file.ref))["file"]
        if "url_private_download" not in found:
            raise kit.ChatGone("the file is stored outside of Slack")
        return self._api.download(found)

    # Sending

    def render(self, markdown: str) -> str:
        """Render Markdown for a markdown block."""
        return rendered(markdown)

    async def send_text(self, chat: str, text: str, options: kit.SendOptions) -> str:
        """Send a message, or open a stream."""
        channel, thread = split(chat)
        where: Json = {"channel": channel, "thread_ts": options.thread or thread or None}
        if self._config.native_streams and not options.final and where["thread_ts"]:
            return await self._open_stream(chat, text, where)
        token = {"event_type": METADATA_TYPE, "event_payload": {"token": options.token}}
        fields = where | {"metadata": token} | NO_PREVIEWS | payload_of(text, options)
        try:
            return f"{channel}:{(await self._ask('chat_postMessage', **fields))['ts']}"
        except kit.ChatGone:  # buttons of such an answer could not be pressed
            url = self._commands.get(options.reply_to or "")
            if not url or options.choices or not options.final:
                raise
            await self._api.respond(url, text)
            return f"{channel}:{options.token}"

    async def edit_message(
        self, chat: str, message_id: str, text: str, options: kit.SendOptions
    ) -> None:
        """Update a message with its blocks, which a text alone would remove; or extend a stream."""
        before = self._streams.get(message_id)
        if before is None or options.final:
            await self._change("chat_update", message_id, **payload_of(text, options))
        elif text.startswith(before) and text != before:
            channel, ts = split(message_id)
            new = text[len(before) :]
            await self._ask("chat_appendStream", channel=channel, ts=ts, markdown_text=new)
            self._streams[message_id] = text

    async def delete_message(self, chat: str, message_id: str) -> None:
        """Remove a message."""
        await self._change("chat_delete", message_id)

    async def remove_buttons(self, chat: str, message_id: str) -> None:
        """Remove the buttons of a message, whose content came with the press, or is fetched."""
        shown = self._pressed.pop(message_id, None)
        if shown is None:
            channel, ts = split(message_id)
            where = {"channel": channel, "ts": ts, "limit": 1}
            shown = (await self._ask("conversations_replies", **where))["messages"][0]
        await self._change("chat_update", message_id, **without_buttons(shown))

    async def _change(self, method: str, message_id: str, **fields: Any) -> None:
        """Change a message of the bot; first close an open stream, perhaps of a dead process."""
        channel, ts = split(message_id)
        self._streams.pop(message_id, None)
        try:
            await self._ask(method, channel=channel, ts=ts, **fields)
        except kit.MessageGone as error:
            if "streaming_state_conflict" not in str(error):
                raise
            await self._ask("chat_stopStream", channel=channel, ts=ts)
            await self._ask(method, channel=channel, ts=ts, **fields)

    async def _open_stream(self, chat: str, text: str, where: Json) -> str:
        who = {
            "recipient_user_id": self._receiver.writers.get(chat),
            "recipient_team_id": self._receiver.team,
        }
        sent = await self._ask("chat_startStream", **where, **who, markdown_text=text)
        message_id = f"{where['channel']}:{sent['ts']}"
        self._streams[message_id] = text
        return message_id

    async def send_file(self, chat: str, item: Attachment | Audio, options: kit.SendOptions) -> str:
        """Send a file in Slack's three steps, and wait until it is in the channel."""
        upload = await kit.Upload.of(item)
        channel, thread = split(chat)
        try:
            about = {"filename": upload.name, "length": len(upload.data)}
            slot = await self._ask("files_getUploadURLExternal", **about)
            await self._api.upload(slot["upload_url"], upload.data)
        except kit.DeliveryUnknown as error:  # nothing is shown before the last step
            raise kit.PlatformError(str(error)) from None
        began, id_ = self.host.now(), slot["file_id"]
        await self._ask(
            "files_completeUploadExternal",
            files=[{"id": id_, "title": upload.name}],
            channel_id=channel,
            thread_ts=options.thread or thread or None,
            initial_comment=escaped(options.caption) or None,
        )
        pause = 0.2
        while pause < SHARE_TIMEOUT / 2:
            await asyncio.sleep(pause)
            pause *= 2
            if made := await self._find(chat, began, lambda one: _holds(one, id_)):
                return made
        raise kit.DeliveryUnknown("Slack accepted a file, but it did not appear in its channel")

    async def find_message(self, chat: str, token: str, text: str, since: float) -> str | None:
        """Find a message of the bot by its token.

        Files and streams have none; the bot's only newer message without a token is the one.
        """
        me, began = await self._receiver.bot_id(), since + self._api.skew - 1

        def matches(one: Json) -> bool:
            if payload := (one.get("metadata") or {}).get("event_payload"):
                return bool(payload.get("token") == token)
            return bool(one.get("user") == me and float(one["ts"]) > began)

        return await self._find(chat, since, matches)

    async def _find(self, chat: str, since: float, matches: Callable[[Json], bool]) -> str | None:
        channel, thread = split(chat)
        pages = self._messages(channel, thread, since - CLOCK_SKEW, include_all_metadata=True)
        found = [one["ts"] async for one in pages if matches(one)]
        return f"{channel}:{found[0]}" if found else None

    async def show_typing(self, chat: str) -> None:
        """Show in a thread that the bot is working; elsewhere Slack has no such status."""
        channel, thread = split(chat)
        if thread:
            where = {"channel_id": channel, "thread_ts": thread}
            await self._ask("assistant_threads_setStatus", **where, status="is working on it…")

    async def react(self, chat: str, message_id: str, emoji: str) -> str:
        """React to a message."""
        channel, ts = split(message_id)
        name = events.EMOJI.get(emoji) or emoji.strip(":")
        await self._ask("reactions_add", channel=channel, timestamp=ts, name=name)
        return name

    async def remove_reaction(self, chat: str, message_id: str, reaction: str) -> None:
        """Remove a reaction."""
        channel, ts = split(message_id)
        await self._ask("reactions_remove", channel=channel, timestamp=ts, name=reaction)

    async def open_thread(self, chat: str, message_id: str) -> str:
        """Return the thread at a message; in Slack every message can start one."""
        return split(message_id)[1]

    async def private_chat(self, person: str) -> str | None:
        """Return the direct messages with a person."""
        return str((await self._ask("conversations_open", users=person))["channel"]["id"])


def _holds(message: Json, file_id: str) -> bool:
    return any(one.get("id") == file_id for one in message.get("files") or ())
