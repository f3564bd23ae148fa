"""Parses events of the gateway and messages of a history, and decides which are for the bot.

Unknown and missing fields are tolerated, so that the rest of a message is not lost.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from hookline_channelkit import (
    BoundedDict,
    HourlyLimit,
    InboundEvent,
    PasteLimit,
    RemoteFile,
    author_label,
    describe_kind,
    get_in,
    quote_fields,
)
from hookline_hookspecs import Inbound

from .config import DiscordConfig
from .contents import unreadable_in, words_beside_text, words_of_embeds, words_of_files
from .facts import time_of

Json: TypeAlias = Mapping[str, Any]
CHANNEL = "discord"
"""Prefix of people's ids, for every bot; the kit sets the channel of a message."""
WRITTEN = frozenset({0, 19})
"""Types of messages written by someone: ordinary ones and replies."""
THREADS = frozenset({10, 11, 12})
READABLE = THREADS | {0, 2, 5, 13}
"""Types of channels that hold messages (discord.com/developers/docs/resources/channel)."""
VOICE, FORWARD, ELSEWHERE, COMMAND, PRESS = 1 << 13, 1, 2, 2, 3
PASTES = PasteLimit(most=2000, least=1500)
"""People send a longer text in parts, by hand or with an extension of their app
(discord.com/developers/docs/resources/message, 2,000 characters)."""
MENTIONED = "(you were mentioned)"
_MENTION = re.compile(r"<@!?(\d+)>")


@dataclass(slots=True)
class GuildChannel:
    """A channel or thread of a server.

    Attributes:
        parent: the channel of a thread.
        last: the id of the newest message.
        own: whether the bot started the thread.
    """

    guild: str
    parent: str | None = None
    last: int = 0
    own: bool = False


class DiscordReceiver:
    """Knows the channels that the bot can read, and parses events in them.

    Attributes:
        me: the bot's id, once it is known.
        places: channels and open threads, by id.
        people: persons by the channel of their private chat.
    """

    def __init__(self, config: DiscordConfig) -> None:
        self._config = config
        self.me = ""
        self.places: dict[str, GuildChannel] = {}
        self.people: dict[str, str] = {}
        self._roles: dict[str, str] = {}
        """The bot's own role in each server."""
        self._bots = HourlyLimit(config.bot_messages)
        self._long: BoundedDict[tuple[str, str], InboundEvent] = BoundedDict()
        """The last part of a long text, by chat and person."""

    def add_guild(self, data: Json) -> None:
        """Remember a server with its channels and open threads."""
        for role in data.get("roles", ()):
            if str(get_in(role, "tags", "bot_id")) == self.me:
                self._roles[data["id"]] = role["id"]
        for room in (*data.get("channels", ()), *data.get("threads", ())):
            self.add_channel(room, data["id"])

    def add_channel(self, data: Json, guild: str = "") -> None:
        """Remember a channel or a thread of a server."""
        if data.get("type") in READABLE and (guild := guild or data.get("guild_id") or ""):
            parent = data.get("parent_id") if data["type"] in THREADS else None
            is_own = parent is not None and data.get("owner_id") == self.me
            last = int(get_in(data, "last_message_id", default=0))
            self.places[data["id"]] = GuildChannel(guild, parent, last, is_own)

    def chat_of(self, data: Json) -> str:
        """Return the chat of an event: its channel, or the person of a private chat.

        Empty if unknown, and for private chats without the bot, in which people who have installed
        the app for themselves may use commands
        (discord.com/developers/docs/interactions/receiving-and-responding, context types).
        """
        if data.get("context") == ELSEWHERE:
            return ""
        channel, person = data["channel_id"], _person(data).get("id") or data.get("user_id")
        if guild := data.get("guild_id"):
            self.places.setdefault(channel, GuildChannel(guild))
        elif channel not in self.places and person and person != self.me:
            self.people.setdefault(channel, person)
        return channel if channel in self.places else self.people.get(channel, "")

    def message(self, data: Json, chat: str) -> InboundEvent | None:
        """Parse a message to the bot; None for other messages."""
        place, writer = self.places.get(chat), data["author"]
        if place is not None:
            place.last = max(place.last, int(data["id"]))
        if data.get("type", 0) not in WRITTEN or "webhook_id" in data or writer["id"] == self.me:
            return None
        found = self._found(data, chat)
        if not self._is_for_agent(found, data):
            return None
        if PASTES.may_go_on(found):
            self._long[chat, found.inbound.user_id] = found
        return found

    def _is_for_agent(self, found: InboundEvent, data: Json) -> bool:
        """Whether a message is for the agent; so is the rest of a text that is."""
        inbound = found.inbound
        is_open = self._config.groups == "always" and inbound.kind != "unreadable"
        begun = self._long.get((inbound.chat_id, inbound.user_id))
        is_rest = begun is not None and PASTES.continues(begun, found)
        if not (inbound.addressed or is_open or is_rest):
            return False
        return not data["author"].get("bot") or self._accepts_bot(inbound.chat_id, data)

    def _found(self, data: Json, chat: str) -> InboundEvent:
        """Return a message with its text, files and quote."""
        place = self.places.get(chat)
        is_addressed = place is None or self._is_addressed(data, place)
        forwarded = [one.get("message") or {} for one in data.get("message_snapshots") or ()]
        parts = [data, *forwarded]
        embeds = [words for part in forwarded for words in words_of_embeds(part)]
        text = "\n\n".join(filter(None, (*map(self.words_of, parts), *embeds)))
        files = tuple(
            _file(one, part, data) for part in parts for one in part.get("attachments") or ()
        )
        is_mention = bool(get_in(data, "content"))
        inbound = replace(
            self._inbound(data, chat, data["id"], text or (MENTIONED if is_mention else "")),
            sent=time_of(data["id"]),
            addressed=is_addressed,
            forwarded=author_label("")
            if get_in(data, "message_reference", "type") == FORWARD
            else "",
            **self._quoted(data),
        )
        raw = str(get_in(data, "content"))
        found = InboundEvent(inbound, files, cursor=data["id"], raw=raw)
        return found if inbound.text or files else found.as_unreadable(unreadable_in(data))

    def _quoted(self, data: Json) -> dict[str, Any]:
        """Return what a message replies to, and the author of that."""
        answered = data.get("referenced_message") or {}
        writer = answered.get("author") or {}
        by: Literal["", "agent", "sender"] = "agent" if writer.get("id") == self.me else ""
        if writer.get("id") == data["author"]["id"]:
            by = "sender"
        author = "" if by else author_label(_name(writer), f"{CHANNEL}:{writer.get('id')}")
        snapshots = [one.get("message") or {} for one in answered.get("message_snapshots") or ()]
        if snapshots:  # a forwarded message, which its sender did not write
            by, author = "", author_label("")
        words = []
        for part in (answered, *snapshots):
            previews = [] if by else words_of_embeds(part)  # which neither of the two wrote
            words += [self.words_of(part), *previews, *words_of_files(part)]
        reference = data.get("message_reference") or {}
        if reference.get("type", 0) == FORWARD:
            return {}
        if data.get("referenced_message", answered) is None:
            words, author = [describe_kind("message that is gone")], author_label("")
        number = answered.get("id") or reference.get("message_id")
        return quote_fields("\n".join(filter(None, words)), author, number, by=by)

    def edit(self, data: Json, chat: str) -> Inbound | None:
        """Parse an edit by a person; None for other changes."""
        if not (when := data.get("edited_timestamp")) or "author" not in data:
            return None
        found = self.message(data, self._thread_at(data["id"], chat))
        if found is None or found.inbound.forwarded or found.inbound.kind != "message":
            return None
        return found.as_edit(when).inbound

    def deletion(self, id_: str, chat: str) -> Inbound:
        """Return the deletion of a message; the kit knows its author, if it was for the agent."""
        gone = self._inbound({"user": {"id": ""}}, self._thread_at(id_, chat), id_, "")
        return InboundEvent(gone).as_deletion().inbound

    def _thread_at(self, id_: str, chat: str) -> str:
        """Return the thread that starts with a message, or else the chat."""
        return id_ if id_ in self.places else chat

    def reaction(self, data: Json, chat: str) -> Inbound | None:
        """Parse a person's reaction to a message of the bot; None for other reactions."""
        emoji, target = get_in(data, "emoji", "name"), data["message_id"]
        who = {"user": {"id": data["user_id"]}} | (data.get("member") or {})
        if data.get("message_author_id") != self.me or who["user"].get("bot") or not emoji:
            return None
        found = self._inbound({"member": who}, chat, f"{target}:{data['user_id']}:{emoji}", emoji)
        return replace(found, kind="reaction", target=target)

    def interaction(self, data: Json, chat: str) -> Inbound | None:
        """Parse a button press or a slash command; None for other interactions."""
        details, message = data.get("data") or {}, data.get("message") or {}
        if data.get("type") == PRESS:
            found, target = self._inbound(data, chat, "", details["custom_id"]), message["id"]
            return replace(found, kind="press", target=target, reply_to=target)
        found = self._inbound(data, chat, data["id"], command(data))
        return replace(found, kind="command") if data.get("type") == COMMAND else None

    def _inbound(self, data: Json, chat: str, id_: str, text: str) -> Inbound:
        """Return the fields that all kinds of events have."""
        person, place = _person(data), self.places.get(chat)
        parent = None if place is None else place.parent
        return Inbound(
            CHANNEL,
            chat,
            person["id"],
            id_,
            text,
            private=place is None,
            thread=chat if parent is not None else None,
            parent=parent,
            sender=str(get_in(data, "member", "nick") or _name(person)),
        )

    def _is_addressed(self, data: Json, place: GuildChannel) -> bool:
        """Whether the bot or its role is mentioned, is replied to, or started the thread."""
        names = {get_in(one, "id") for one in data.get("mentions") or ()}
        names.add(get_in(data, "referenced_message", "author", "id"))
        roles = data.get("mention_roles") or ()
        return self.me in names or self._roles.get(place.guild) in roles or place.own

    def _accepts_bot(self, chat: str, data: Json) -> bool:
        """Whether another bot's message is accepted: it must mention this one, up to a rate."""
        if self._config.bots == "none" or self.me not in _MENTION.findall(get_in(data, "content")):
            return False
        return self._bots.allows(f"{chat} {data['author']['id']}", data["id"], time_of(data["id"]))

    def words_of(self, data: Json) -> str:
        """Return the text without a leading mention of the bot, and with names in mentions."""
        names = {one["id"]: _name(one) for one in data.get("mentions") or ()}
        mine = "|".join([f"@!?{self.me}", *(f"@&{role}" for role in self._roles.values())])
        text = re.sub(rf"^\s*<(?:{mine})>[\s,:]*", "", str(get_in(data, "content")))
        text = _MENTION.sub(lambda m: f"@{names[m[1]]}" if m[1] in names else m[0], text)
        return "\n".join(filter(None, [text, *words_beside_text(data)]))


def command(data: Json) -> str:
    """Return a slash command as text."""
    details = data.get("data") or {}
    words = (str(one["value"]) for one in details.get("options") or ())
    return " ".join([f"/{details.get('name')}", *words])


def _person(data: Json) -> Json:
    """Return the person of a message, reaction or interaction."""
    found: Json = (
        data.get("author") or data.get("user") or get_in(data, "member", "user", default={})
    )
    return found


def _name(person: Json) -> str:
    return str(person.get("global_name") or person.get("username") or "")


def _file(data: Json, part: Json, around: Json) -> RemoteFile:
    """Return a file; ``around`` is the message, ``part`` the message or forward with the file."""
    ref = f"{around['channel_id']} {around['id']} {data['id']} {data['url']}"
    name, size = str(get_in(data, "filename", default="file")), int(get_in(data, "size", default=0))
    is_voice = bool(part.get("flags", 0) & VOICE)
    seconds = float(get_in(data, "duration_secs", default=0))
    return RemoteFile(ref, name, size, is_voice, seconds, is_recording=is_voice)
