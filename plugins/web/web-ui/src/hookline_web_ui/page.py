"""The server side of the page: creates its parts, and publishes ends of turns and replies."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import (
    Context,
    HooklineError,
    Host,
    Inbound,
    Inspection,
    Reply,
    StoredQuestion,
    Turn,
)
from hookline_hookspecs.speech import ReadAloud
from hookline_hookspecs.web import Identity, Problem, WebServer, t
from hookline_webkit.relay import Relay

from .chat_settings import ChatSettings
from .event_hub import EventHub
from .files import Files
from .live_turns import LiveTurn
from .message_sender import MessageSender
from .person_settings import PeopleSettings
from .push import PushNotifications
from .push_sender import PushSender
from .questions import PageQuestions
from .remote_turns import RemoteTurns, SharedLiveTurns
from .session_names import session_name
from .session_owner import CHANNEL, Chat, is_mine, owner
from .session_reader import SETTING_PREFIX, SessionReader, turn_question
from .shared_links import SharedLinks
from .signal_listener import SignalListener, chat
from .versions import Versions
from .work_folders import ChatFolders
from .workspace_files import WorkspaceFiles

if TYPE_CHECKING:
    from .plugin import WebUiConfig

USAGE = ("input", "cache_read", "cache_write", "output", "reasoning")
BOOTS = "boots"
"""Key of the number of starts; attempts are numbered from it, so that later ones are higher."""


class Pages:
    """The parts that the routes, the hooks and the channel share."""

    def __init__(self, host: Host, folders: ChatFolders, config: WebUiConfig) -> None:
        self.host = host
        self.people_settings = PeopleSettings(host)
        sender = PushSender(host, config.push_contact)
        self.push = PushNotifications(host, sender, self.people_settings)
        self.hub = EventHub()
        self.relay = Relay(host, CHANNEL)
        self.live = SharedLiveTurns(self.hub, host.now, self.relay)
        self.files = Files(host)
        self.listener = SignalListener(host, self.live, self._began, self._settled)
        self.questions = PageQuestions(host, self.live, self)
        self.reader = SessionReader(host, self.live, self.files, self.questions)
        self.shared_links = SharedLinks(host, self.reader, config.share)
        self.remote_turns = RemoteTurns(host, self.live, self, self.relay)
        self.sender = MessageSender(
            host,
            self.live,
            self.reader,
            self.files,
            self.questions,
            self.remote_turns,
            self.listener.command_received,
            folders,
        )
        self.versions = Versions(host, self.reader, self.files, self.sender)
        people = self.people_settings
        self.settings = ChatSettings(host, self.reader, self.sender, people, folders)
        self.folders = folders
        self.workspace_files = WorkspaceFiles(host, self.reader, self.versions, folders)
        self.has_voice = False
        """Whether a plugin turns voice messages into text."""
        self._titles: dict[str, str | None] = {}
        self._resumed: list[str] = []
        host.signals.connect("resumed", self._resume)
        self.remote_turns.listen()

    async def started(self) -> None:
        """Start: count the start, read queued messages, and end streams when their login ends."""
        boots = int(await self.host.storage.kv.get(BOOTS, 0)) + 1
        await self.host.storage.kv.set(BOOTS, boots)
        self.hub.open(f"{boots:x}{token_hex(3)}")
        self.live.begin_at(boots * 1000)
        for item in await self.reader.queue(None):
            session, here = str(item.pop("session") or ""), (CHANNEL, item.pop("chat"))
            if session:
                self.live.queued(session, here, item)
        server = self.host.services.get(WebServer)
        if server is not None:
            server.on_revoked(self.hub.end)
            server.on_revoked(self.push.signed_out)
        plugins = await self.host.services[Inspection].plugins()
        self.has_voice = any(
            "on_voice" in one["hooks"] for one in plugins if one.get("state") == "on"
        )
        for session in await self.reader.parked():
            self.live.set_parked(session, True)
        self.remote_turns.show()
        self.questions.show()

    # Turns

    # What :class:`PageQuestions` notifies of

    async def question_opened(self, question: StoredQuestion, session: str) -> None:
        """Notify of a question by Web Push; its chat's title is that of ``session``."""
        title = await session_name(self.host, session) if session else ""
        await self.push.question_opened(question, session, title)

    async def question_closed(self, question: StoredQuestion) -> None:
        """Withdraw the notification of a question."""
        await self.push.question_closed(question)

    async def questions_compared(self, open_ids: Collection[str]) -> None:
        """Withdraw the notifications of all questions but these."""
        await self.push.close_left_over(open_ids)

    def _began(
        self, turn: Turn, found: Callable[[list[dict[str, Any]]], None]
    ) -> list[dict[str, Any]]:
        self.turn_began(turn.session.id)
        self.push.turn_began(turn.id)
        named = turn.inbound.session_id
        if turn.session.kind == "chat" and named and named != turn.session.id:
            self.host.spawn(self._lead(named, turn.session.id), "successor")
        return self.files.began(turn.inbound.attachments, turn.session.id, turn.id, found)

    def turn_began(self, session: str) -> None:
        """Remove the buttons of earlier messages in a session."""
        self.questions.turn_began(session)

    async def _lead(self, ended: str, following: str) -> None:
        """Send the page of an ended session to its successor, once that is stored."""
        for _ in range(40):
            if await self.host.storage.fetch("session", id=following):
                break
            await asyncio.sleep(0.05)
        await self.tell_session(ended)

    def _settled(self, inbound: Inbound) -> None:
        """Remove a message from the queue, unless it waits behind a parked turn."""
        self.host.spawn(self._unqueue(inbound), "update the queue")

    async def _unqueue(self, inbound: Inbound) -> None:
        if inbound.session_id and not await self.reader.is_queued(inbound.message_id):
            here = (inbound.channel, inbound.chat_id)
            self.live.unqueued(inbound.session_id, here, inbound.message_id)

    async def ended(self, turn: Turn) -> None:
        """Publish the stored messages of a turn that is over."""
        live = self.live.ended(turn.session.id, turn.id)
        if live is None:
            return
        here = chat(turn.session)
        usage: dict[str, Any] = {name: getattr(turn.usage, name) for name in USAGE}
        usage["cost"] = live.cost
        fields = {
            "text": turn.reply,
            "usage": usage,
            "tool_calls": len(turn.tool_calls),
            "stop": turn.stop,
            "message_id": turn.inbound.message_id,
        }
        if self.relay.is_elsewhere:
            self.live.forget(live)
            await self.remote_turns.ended(turn.id, turn.session.id, here, fields)
            return
        await self._tell_result(live, turn.session.id, here, turn.id, fields)
        if turn.session.kind == "chat":
            await self.tell_session(turn.session.id)
            title = await session_name(self.host, turn.session.id)
            self.host.spawn(self.push.turn_ended(turn, title), "notify of a turn's end")

    async def tell_end(
        self, session: str, here: Chat, turn: str, fields: Mapping[str, Any]
    ) -> None:
        """Publish the stored messages of another process's turn that is over."""
        await self._tell_result(self.live.ended(session, turn), session, here, turn, fields)
        await self.tell_session(session)

    async def _tell_result(
        self, live: LiveTurn | None, session: str, here: Chat, turn: str, fields: Mapping[str, Any]
    ) -> None:
        attempt = live.attempt if live is not None else self.live.attempt
        messages = await self.reader.turn(session, turn)
        event = {**fields, "attempt": attempt, "messages": messages}
        self.live.tell(session, here, "result", turn, fields=event)
        if live is not None:
            self.live.end(live)

    async def tell_title(self, session_id: str, here: Chat) -> None:
        """Publish a session's title if it has changed."""
        title = await self.reader.title(session_id)
        if title and self._titles.get(session_id) != title:
            self._titles[session_id] = title
            while len(self._titles) > 1024:
                del self._titles[next(iter(self._titles))]
            self.live.tell(session_id, here, "title", fields={"title": title}, wide=True)

    async def tell_session(self, session_id: str) -> None:
        """Publish a session's row for the lists of sessions."""
        rows = await self.host.storage.fetch("session", id=session_id)
        if not rows:
            return
        here = (rows[0]["channel"], rows[0]["chat_id"])
        anonymous = Identity(CHANNEL, "", "person", "")
        row = self.reader.as_json(anonymous, rows[0])
        del row["mine"]
        self.live.tell(session_id, here, "session", fields={"row": row}, wide=True)

    # Replies

    async def send(self, reply: Reply) -> str:
        """Publish a reply.

        The text of a turn's reply is published at the end of the turn; here only its files and
        question are, and replies without a turn: answers to commands, refusals, notices.
        """
        if self.relay.is_elsewhere:
            self.remote_turns.reply(reply)
            return reply.id
        here = chat(reply.session)
        turn = reply.id.removesuffix("-reply")
        found = await self.host.storage.fetch("turn", id=turn) if turn != reply.id else []
        own = turn if found else None
        if own is None and reply.question:
            return reply.id  # the page shows stored questions itself
        session = reply.session.id or await self.reader.told_in(reply)
        if own is None and (reply.in_reply_to or "").startswith(SETTING_PREFIX):
            named = {"id": reply.in_reply_to, "text": reply.text}
            self.live.tell(session, here, "setting", fields=named)
            await self.tell_session(session)
            return reply.id
        if own is None and _is_notice(reply):
            notice = {"plugin": "core", "text": reply.text}
            self.live.tell(session, here, "notice", fields=notice)
            return reply.id
        if own is None:
            await self._tell_aside(reply, session, here)
        if reply.attachments:
            files = await self.files.of_reply(reply, session, own or reply.id)
            event = {"files": files, "reply": reply.id}
            self.live.tell(session, here, "files", own, fields=event)
        if reply.choices:
            await self._show_choices(reply, session, own)
        if own is None:
            await self.tell_title(session, here)
            await self.tell_session(session)
        else:
            self.host.spawn(self.remote_turns.check(session, own), "check the end")
        return reply.id

    async def _show_choices(self, reply: Reply, session: str, turn: str | None) -> None:
        """Show the choices of a turn's reply, or of a plugin's message."""
        if turn is None:
            self.questions.prompt(reply, session)
            return
        rows = await self.host.storage.fetch("session", id=session)
        if rows and rows[0]["question"]:
            here = chat(reply.session)
            anonymous = Identity(CHANNEL, "", "person", "")
            question = turn_question(rows[0], turn, anonymous)
            to = f"{CHANNEL}:{owner(here)}"
            self.live.tell_question(session, here, turn, question, to, operators=False)

    def _resume(self, session: str, ctx: Context | None = None) -> None:
        """Handle the signal of ``/resume``; the command's answer names the session."""
        if self.relay.is_elsewhere:
            here = (CHANNEL, "")
            self.live.tell(session, here, "resumed", fields={})
        self.resumed(session)

    def resumed(self, session: str) -> None:
        """Remember the session that ``/resume`` went to."""
        self._resumed = [*self._resumed[-9:], session]

    async def _tell_aside(self, reply: Reply, session: str, here: Chat) -> None:
        event = _aside(reply.id, reply.text)
        event |= {"command": await self.reader.asked(reply), "message_id": reply.in_reply_to}
        for back in self._resumed:
            if reply.text.startswith(f"Session {back}."):
                event["go"] = back
        self.live.tell(session, here, "result", fields=event)

    async def prune(self) -> None:
        """Delete unused files, and links to shared chats that have ended."""
        await self.files.prune()
        await self.shared_links.prune()

    async def speech(self, who: Identity, session_id: str, seq: Any) -> list[dict[str, Any]]:
        """Return recordings of an answer, made at the first request.

        Raises :class:`Problem` (404, 400, 502).
        """
        row = await self.reader.row(who, session_id)
        found = []
        if isinstance(seq, int) and not isinstance(seq, bool):
            found = await self.host.storage.fetch("begins", id=session_id, seq=seq)
        if not found or found[0]["role"] != "assistant" or not found[0]["text"].strip():
            raise Problem(
                400, "no_message", "message must be the sequence number of an answer with text."
            )
        reader = self.host.services.get(ReadAloud)
        if reader is None:
            fix = t("Run `hookline plugins enable voice`.")
            raise Problem(404, "no_voice", t("Reading aloud needs a voice plugin."), fix)
        name = f"speech:{session_id}:{seq}"
        if known := await self.files.known(name):
            return known
        try:
            made = await reader.read_aloud(found[0]["text"], CHANNEL)
        except (HooklineError, OSError) as error:
            raise Problem(502, "not_spoken", str(error)) from None
        here = (row["channel"], row["chat_id"])
        return await self.files.keep(name, here, made, session_id, found[0]["turn_id"])

    # Sessions

    async def rename(self, who: Identity, session_id: str, title: str) -> None:
        """Change a session's title. Raises :class:`Problem` (404, 403)."""
        row = await self._theirs(who, session_id)
        for version in await self.versions.family(session_id):
            await self.host.set_title(version, title)
            await self.tell_title(version, (row["channel"], row["chat_id"]))

    async def put(self, who: Identity, session_id: str, place: Mapping[str, Any]) -> None:
        """Pin a chat, put it into a folder or archive it. Raises :class:`Problem` (404, 403)."""
        row = await self.reader.row(who, session_id)
        if not is_mine(who, (row["channel"], row["chat_id"])):
            raise Problem(403, "forbidden", t("Only the owner of the chat can change it."))
        root = row["root"] or row["id"]
        stored = await self.reader.place(root)
        await self.host.storage.execute("put_place", id=root, **{**stored, **place})
        await self.tell_session(session_id)

    async def delete(self, who: Identity, session_id: str) -> None:
        """Delete all versions of a chat with their files.

        Raises :class:`Problem` (404, 403, 409).
        """
        family = await self.versions.family(session_id)
        rows = [await self._theirs(who, one) for one in family]
        for row in rows:
            if (state := self.reader.state(row)) != "idle":
                asks = state == "asking"
                why = (
                    t("A question is open in this chat.")
                    if asks
                    else t("A turn is running in this chat.")
                )
                raise Problem(409, "running", why, t("Stop it first."))
        for row in rows:
            await self._delete(row)

    async def _delete(self, row: Mapping[str, Any]) -> None:
        id_, here = row["id"], (row["channel"], row["chat_id"])
        await self.host.services[Inspection].delete_session(id_)
        await self.files.forget(id_)
        await self.host.storage.execute("forget_version", id=id_)
        await self.host.storage.execute("forget_place", id=id_)
        await self.folders.forget(id_)
        await self.shared_links.forget(id_)
        gone = {"row": None, "deleted": True}
        self.live.tell(id_, here, "session", fields=gone, wide=True)

    async def _theirs(self, who: Identity, session_id: str) -> Any:
        row = await self.reader.row(who, session_id)
        if not who.is_operator and not is_mine(who, (row["channel"], row["chat_id"])):
            raise Problem(403, "forbidden", t("Only the owner of the chat can change it."))
        return row


def _is_notice(reply: Reply) -> bool:
    """Whether a reply is a sentence beside the conversation, not the answer to a command."""
    is_unprompted = not reply.session.id and not reply.in_reply_to and not reply.choices
    return reply.kind == "notice" or is_unprompted


def _aside(id_: str, text: str) -> dict[str, Any]:
    """Return a ``result`` event for a text outside the history."""
    usage: dict[str, Any] = dict.fromkeys(USAGE, 0)
    event: dict[str, Any] = {"id": id_, "command": None, "text": text, "usage": usage}
    usage["cost"] = None
    return event | {
        "tool_calls": 0,
        "stop": "command",
        "message_id": None,
        "attempt": 0,
        "messages": [],
    }
