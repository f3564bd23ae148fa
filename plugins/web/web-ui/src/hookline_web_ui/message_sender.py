"""Passes to core what people send: messages, stops, and answers to questions."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from uuid import uuid4

from hookline_hookspecs import Conversations, GatewayHost, Host, Inbound
from hookline_hookspecs.web import Identity, Problem, t

from .files import MAX_FILES, Files
from .live_turns import LiveTurns
from .questions import PageQuestions
from .remote_turns import RemoteTurns
from .session_owner import CHANNEL, Chat, chat_of, is_mine, is_uuid
from .session_reader import SessionReader, turn_question
from .work_folders import ChatFolders

MAX_MESSAGE_CHARS = 400_000
MODES = ("send", "queue", "steer")
ANSWERED = "The question has already been answered."
MAX_NEW_CHATS = 4096
"""New chats to remember until they are stored."""


class MessageSender:
    """Passes to core what people send."""

    def __init__(
        self,
        host: Host,
        live: LiveTurns,
        reader: SessionReader,
        files: Files,
        questions: PageQuestions,
        remote_turns: RemoteTurns,
        command_received: Callable[[str], None],
        folders: ChatFolders,
    ) -> None:
        self._host, self._live, self._reader = host, live, reader
        self._files, self._questions, self._remote_turns = files, questions, remote_turns
        self._command_received = command_received
        self._folders = folders
        self._new: OrderedDict[str, str] = OrderedDict()
        """Owners of new chats, by session."""

    async def message(
        self, who: Identity, session_id: str, body: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Store a message durably. Raises :class:`Problem`."""
        message_id, text, mode = (
            body.get("message_id"),
            body.get("text", ""),
            body.get("mode", "send"),
        )
        ids = body.get("files") or []
        if not is_uuid(message_id):
            raise _bad("message_id must be a lower-case UUID.")
        if not isinstance(text, str) or not isinstance(ids, list) or mode not in MODES:
            raise _bad("text must be a string, files a list of ids, and mode send, queue or steer.")
        if len(text) > MAX_MESSAGE_CHARS or len(ids) > MAX_FILES:
            raise Problem(
                413,
                "too_large",
                t(
                    "A message can have at most {characters} characters and {files} files.",
                    characters=MAX_MESSAGE_CHARS,
                    files=MAX_FILES,
                ),
                t("Send it as a file or in parts."),
            )
        if not text.strip() and not ids:
            raise _bad("The message is empty.")
        session_id, chat = await self._place(who, session_id)
        attachments = await self._files.attached(who, [str(one) for one in ids])
        is_command = text.lstrip().startswith("/") and not attachments
        has_turn = self._live.state(session_id) in ("running", "asking")
        steers = mode == "steer" and has_turn and not attachments
        content = f"/steer {text}" if steers and not is_command else text
        if session_id in self._new and who.is_operator:
            await self._folders.begin(session_id)
        inbound = self._inbound(who, chat, session_id, str(message_id), content)
        inbound = await self._folders.placed(inbound)
        if is_command and not self._is_immediate(text):
            self._command_received(inbound.message_id)
        known = not await self._host.receive(replace(inbound, attachments=attachments))
        if not known:
            names = [getattr(one, "name", "voice") for one in attachments]
            self._announce(inbound, text, names, is_command, steers and not is_command)
        return {"known": known, "session": session_id}

    def _is_immediate(self, text: str) -> bool:
        """Return whether a command runs at once, so that it leaves the history alone."""
        name = text.split(None, 1)[0]
        commands = self._host.services[Conversations].commands()
        return any(one.immediate for one in commands if name in (one.name, *one.aliases))

    def _announce(
        self, inbound: Inbound, text: str, files: list[str], command: bool, steer: bool
    ) -> None:
        session, chat = str(inbound.session_id), (inbound.channel, inbound.chat_id)
        if command or steer:
            fields: dict[str, Any] = {"message_id": inbound.message_id, "text": text, "files": []}
            fields |= {"seq": None, "command": command, "steer": steer}
            self._live.tell(session, chat, "user", fields=fields)
            return
        turn = self._live.turn(session)
        if turn is not None and turn.message_id == inbound.message_id:
            return  # its turn has begun already
        item = {
            "message_id": inbound.message_id,
            "text": text,
            "files": files,
            "at": inbound.received,
        }
        self._live.queued(session, chat, item)

    def _inbound(
        self, who: Identity, chat: Chat, session_id: str, message_id: str, text: str, **more: Any
    ) -> Inbound:
        return Inbound(
            chat[0],
            chat[1],
            who.name,
            message_id,
            text,
            received=self._host.now(),
            session_id=session_id,
            private=True,
            sender=who.name,
            **more,
        )

    async def _place(self, who: Identity, session_id: str) -> tuple[str, Chat]:
        """Return the session for a message and its chat: a stored one, its successor, or a new
        one."""
        try:
            row = await self._reader.row(who, session_id)
        except Problem:
            if who.channel != CHANNEL or not is_uuid(session_id):
                raise
            if await self._chat_with(session_id) not in (None, chat_of(who.name)):
                raise
            if self._new.setdefault(session_id, who.name) != who.name:
                raise
            while len(self._new) > MAX_NEW_CHATS:
                self._new.popitem(last=False)
            return session_id, chat_of(who.name)
        chat = (row["channel"], row["chat_id"])
        if not is_mine(who, chat) or row["kind"] != "chat":
            why = t("You cannot write in this session.")
            raise Problem(409, "read_only", why, t("Branch it to continue in your own chat."))
        if row["ended"] is not None and row["successor"]:
            return await self._place(who, row["successor"])
        if row["ended"] is not None:
            raise Problem(409, "ended", t("This session has ended."), t("Start a new chat."))
        return row["id"], chat

    async def _chat_with(self, session_id: str) -> Chat | None:
        """Return the chat of a session, stored or still waiting for its first turn."""
        for query in ("waiting_for", "session"):  # it may become a session meanwhile
            if rows := await self._host.storage.fetch(query, id=session_id):
                return rows[0]["channel"], rows[0]["chat_id"]
        return None

    async def require_own(self, who: Identity, session_id: str) -> str:
        """Return the session in which the person's next message runs. Raises :class:`Problem`."""
        return (await self._place(who, session_id))[0]

    async def command(self, who: Identity, session_id: str, text: str, prefix: str) -> None:
        """Send a slash command that the chat does not show. Raises :class:`Problem`."""
        session_id, chat = await self._place(who, session_id)
        inbound = self._inbound(who, chat, session_id, f"{prefix}{uuid4()}", text)
        await self._host.receive(await self._folders.placed(inbound))

    async def withdraw(self, who: Identity, session_id: str, message_id: str) -> dict[str, Any]:
        """Take a message back that is still queued; return its ``text`` and ``files``.

        Raises :class:`Problem` (404, 403, 409).
        """
        row = await self._reader.row(who, session_id)
        chat = (row["channel"], row["chat_id"])
        if not is_mine(who, chat):
            raise Problem(403, "forbidden", t("Only the owner of the chat can change its queue."))
        text, paths = await self._reader.queued(message_id)
        if not await self._host.services[GatewayHost].withdraw(*chat, message_id):
            raise Problem(409, "begun", t("This message is no longer queued."))
        self._live.unqueued(session_id, chat, message_id)
        return {"text": text, "files": await self._files.at(who, paths)}

    async def stop(self, who: Identity, session_id: str) -> bool:
        """Stop the running turn; return False if there is none. Raises :class:`Problem`."""
        row = await self._reader.row(who, session_id)
        chat = (row["channel"], row["chat_id"])
        if not is_mine(who, chat) and not who.is_operator:
            raise Problem(403, "forbidden", t("Only the owner of the chat can stop it."))
        inbound = Inbound(*chat, who.name, uuid4().hex, "/stop", session_id=session_id)
        stopped = await self._host.services[Conversations].stop(inbound)
        return stopped or self._remote_turns.stop(session_id, chat, who.name)

    async def answer(self, who: Identity, session_id: str, body: Mapping[str, Any]) -> str:
        """Answer a question and return what was done, if a plugin has acted on the answer.

        Raises :class:`Problem` (404, 403, 400, 409).
        """
        id_, choice, shown = body.get("question"), body.get("choice"), body.get("shown") or ""
        if not (isinstance(id_, str) and isinstance(choice, str) and isinstance(shown, str)):
            raise _bad("question, choice and shown must be strings.")
        prompt = self._questions.find_prompt(who, id_)
        if prompt is not None and prompt.session == session_id:
            label = _label(prompt.shown, choice)
            self._questions.end_prompt(prompt, who.person, label)
            await self._press(who, prompt.chat, session_id, id_, label)
            return ""
        answered = await self._questions.answer(who, session_id, id_, choice, shown)
        if answered is not None:
            return answered.outcome
        await self._answer_turn(who, await self._reader.row(who, session_id), id_, choice)
        return ""

    async def _answer_turn(
        self, who: Identity, row: Mapping[str, Any], id_: str, choice: str
    ) -> None:
        """Answer the question that the session's last turn ended with, by a message."""
        turn, chat = id_.removesuffix("-reply"), (row["channel"], row["chat_id"])
        found = await self._host.storage.fetch("turn", id=turn) if turn != id_ else []
        if not found or found[0]["session_id"] != row["id"]:
            raise Problem(404, "not_found", t("Question not found."))
        if not is_mine(who, chat):
            raise Problem(403, "not_asked", t("Only the person who was asked can answer."))
        if not row["question"] or not await self._reader.is_last_turn(row["id"], turn):
            raise Problem(409, "answered", ANSWERED)
        label = _label(turn_question(row, turn, who), choice)
        await self._press(who, chat, row["id"], id_, label)
        fields = {
            "question": id_,
            "kind": "clarify",
            "choice": label,
            "by": who.person,
            "words": "",
        }
        fields |= {"state": "answered"}
        self._live.tell(row["id"], chat, "answered", wide=True, fields=fields)

    async def _press(
        self, who: Identity, chat: Chat, session_id: str, id_: str, label: str
    ) -> None:
        """Send a button press; a second one for the same question has the same message id."""
        more: dict[str, Any] = {"kind": "press", "target": id_, "reply_to": id_}
        inbound = self._inbound(who, chat, session_id, f"press-{id_}", label, **more)
        if not await self._host.receive(inbound):
            raise Problem(409, "answered", ANSWERED)


def _label(question: Mapping[str, Any], choice: str) -> str:
    """Return the label of a choice, which is named by its label or id. Raises ``Problem``."""
    for one in question["choices"]:
        if choice in (one["label"], one["id"]):
            return str(one["label"])
    named = ", ".join(one["label"] for one in question["choices"])
    raise Problem(
        400,
        "no_choice",
        t("“{choice}” is not one of the choices.", choice=choice),
        t("Send one of: {named}.", named=named),
    )


def _bad(message: str) -> Problem:
    return Problem(400, "bad_request", message)
