"""The tables ``questions``, ``question_calls`` and ``question_chats``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hookline_hookspecs.bound_files import bound_files_from_json, bound_files_to_json
from hookline_hookspecs.drivers import Batch, Store
from hookline_hookspecs.forms import fields_from_json, fields_to_json
from hookline_hookspecs.messages import TextBlock
from hookline_hookspecs.origins import Origin, origins_from_json, origins_to_json
from hookline_hookspecs.questions import (
    DENY,
    Question,
    QuestionAnswer,
    QuestionState,
    StoredQuestion,
)

from .. import clock
from ..store.journal import Statement, queries
from ..text import dump


@dataclass(frozen=True, slots=True)
class AskingCall:
    """The call that asks.

    ``turn`` is the id of its turn, and ``waiting_turn`` of the one that is parked for the answer.
    ``key`` identifies the call in its turn: once the turn is resumed, the call finds its question
    by it. It is empty for a question of a call that has begun. ``same_call`` says what is asked:
    of the calls of ``waiting_turn`` with the same text only one asks. It is empty if each asks by
    itself. ``siblings`` are the keys of the identical calls of the same response.
    """

    turn: str = ""
    key: str = ""
    waiting_turn: str = ""
    same_call: str = ""
    siblings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ShownQuestion:
    """An open question in a chat that shows it.

    ``person`` is the user id of who was asked there; empty if unknown. ``message`` is the
    platform's id of the message that shows it, and ``sent`` the Unix time in seconds at which that
    was sent; both are empty until then.
    """

    question: StoredQuestion
    person: str
    message: str
    sent: float


@dataclass(frozen=True, slots=True)
class QuestionPlace:
    """A chat that shows a question, in the reply with the id ``reply_id``.

    ``message`` is the platform's id of that, empty until it was delivered.
    """

    channel: str
    chat_id: str
    person: str
    reply_id: str
    message: str = ""


class QuestionTable:
    """Reads and writes the stored questions. Every method may raise ``StoreError``."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._sql = queries()

    async def _rows(self, query: str, **params: Any) -> list[Mapping[str, Any]]:
        return await self._store.read(lambda db: db.fetch(self._sql[query], params))

    async def _write(self, *statements: Statement, durable: bool = False) -> None:
        rows = [(self._sql[name], row) for name, row in statements]
        await self._store.write(Batch(rows), durable=durable)

    async def _write_counted(self, query: str, **params: Any) -> int:
        return await self._store.write(
            lambda db: db.batch([(self._sql[query], params)])[0], durable=True
        )

    async def insert(self, question: StoredQuestion, call: AskingCall) -> StoredQuestion:
        """Store an open question of a call, unless one about the same is open; return that."""
        about = {"waiting_turn": call.waiting_turn, "same_call": call.same_call}

        def work(db: Any) -> StoredQuestion:
            same: list[Mapping[str, Any]] = []
            if call.same_call:
                same = db.fetch(self._sql["open_about_call"], {**about, "now": clock.now()})
            stored = _question(same[0]) if same else question
            new = [] if same else [insert_question(question, call)]
            keys = [call.key] if same and call.key else []
            keys += call.siblings
            waiting = [_insert_question_call(stored.id, call.turn, key) for key in keys]
            db.batch([(self._sql[name], row) for name, row in (*new, *waiting)])
            return stored

        return await self._store.write(work, durable=True)

    async def get(self, question_id: str) -> StoredQuestion | None:
        """A question by its id."""
        return _first(await self._rows("question", id=question_id))

    async def of_call(self, turn_id: str, call_key: str) -> StoredQuestion | None:
        """The newest question that a turn's call asked, or that it waits for."""
        return _first(await self._rows("question_of_call", turn_id=turn_id, call_key=call_key))

    async def open(
        self, *, session_id: str | None = None, chat: tuple[str, str] | None = None
    ) -> list[StoredQuestion]:
        """The open questions, oldest first: of a session, of a chat, or all."""
        channel, chat_id = chat or (None, None)
        place = {"session_id": session_id, "channel": channel, "chat_id": chat_id}
        return [
            _question(row) for row in await self._rows("open_questions", **place, now=clock.now())
        ]

    async def open_of_turn(self, turn_id: str) -> list[StoredQuestion]:
        """The open questions of a turn and of its sub-agents."""
        return [_question(row) for row in await self._rows("open_of_turn", turn_id=turn_id)]

    async def shown_in(self, channel: str, chat_id: str) -> list[ShownQuestion]:
        """The open questions that are shown in a chat, oldest first."""
        rows = await self._rows(
            "shown_questions", channel=channel, chat_id=chat_id, now=clock.now()
        )
        return [
            ShownQuestion(
                _question(row), row["person"], row["delivered_id"] or "", row["sent"] or 0.0
            )
            for row in rows
        ]

    async def add_chat(self, question_id: str, place: QuestionPlace) -> None:
        """Record that a chat shows the question."""
        await self._write(insert_question_chat(question_id, place))

    async def closed_places(self) -> list[tuple[StoredQuestion, QuestionPlace]]:
        """The closed questions, with each chat that has not learned it."""
        return [
            (
                _question(row),
                QuestionPlace(
                    row["shown_channel"],
                    row["shown_chat"],
                    row["person"],
                    row["reply_id"],
                    row["delivered_id"] or "",
                ),
            )
            for row in await self._rows("closed_questions")
        ]

    async def close_place(self, question_id: str, place: QuestionPlace) -> None:
        """Record that the chat has learned that the question is closed."""
        row = {"id": question_id, "channel": place.channel, "chat_id": place.chat_id}
        await self._write(("close_question_chat", row), durable=True)

    async def withdraw_reply(self, reply_id: str) -> bool:
        """Give up a reply that was not sent yet; False if it was."""
        return bool(await self._write_counted("withdraw_reply", id=reply_id))

    async def open_choices(self, session_id: str) -> list[StoredQuestion]:
        """The open questions that earlier replies of the session ended with."""
        return [_question(row) for row in await self._rows("open_choices", session_id=session_id)]

    async def answered_by(self, person: str, message_id: str) -> StoredQuestion | None:
        """The question that a message of a person, named as ``channel:user``, has answered."""
        return _first(await self._rows("answered_by_message", by=person, message=message_id))

    async def answer(
        self,
        question_id: str,
        answer: QuestionAnswer,
        message_id: str = "",
        *,
        node: str | None = None,
        handled: bool = False,
    ) -> bool:
        """Answer a question, durably; False if it is no longer open.

        ``message_id`` is the id of the message with the answer, and ``node`` the id of the process
        that acts on it. ``handled``: nothing is left to do.
        """
        row: dict[str, Any] = {"id": question_id, "now": clock.now(), "by": answer.by}
        row |= {"choice": str(answer.choice), "words": answer.words, "message": message_id}
        row |= {"node": node, "handled": int(handled)}
        return bool(await self._write_counted("answer_question", **row))

    async def insert_once(self, question: StoredQuestion) -> StoredQuestion:
        """Store a question with a handler, unless one about its subject is open; return that."""
        about = {"handler": question.handler, "subject": question.subject, "now": clock.now()}
        name, row = insert_question(question, AskingCall())

        def work(db: Any) -> StoredQuestion:
            same = db.fetch(self._sql["open_about"], about)
            if not same:
                db.batch([(self._sql[name], row)])
            return _question(same[0]) if same else question

        return await self._store.write(work, durable=True)

    async def open_about(self, handler: str, subject: str) -> StoredQuestion | None:
        """The open question of a handler about a subject."""
        about = {"handler": handler, "subject": subject, "now": clock.now()}
        return _first(await self._rows("open_about", **about))

    async def unhandled(self) -> list[tuple[StoredQuestion, str | None]]:
        """Answered questions whose handler has not finished, and the process that acts on each."""
        rows = await self._rows("unhandled_questions")
        return [(_question(row), row["handling"]) for row in rows]

    async def claim(self, question_id: str, node: str, previous: str | None) -> bool:
        """Take over an unhandled question from a dead process; False if another did."""
        row = {"id": question_id, "node": node, "previous": previous}
        return bool(await self._write_counted("claim_question", **row))

    async def mark_handled(self, question_id: str) -> None:
        """Record that the handler has acted on the answer."""
        await self._write_counted("question_handled", id=question_id)

    async def reopen(self, question_id: str) -> bool:
        """Open an answered question again, on whose answer the handler could not act."""
        return bool(await self._write_counted("reopen_question", id=question_id))

    async def close(self, question_id: str, state: QuestionState) -> bool:
        """Close a question without an answer; False if it is no longer open."""
        now = clock.now()
        return bool(
            await self._write_counted("close_question", id=question_id, state=state, now=now)
        )

    async def expired(self) -> list[StoredQuestion]:
        """The questions that are still marked as open although they have expired."""
        return [_question(row) for row in await self._rows("expired_questions", now=clock.now())]

    async def next_expiry(self) -> float | None:
        """When the next open question expires, in Unix seconds."""
        at: float | None = (await self._rows("next_expiry"))[0]["at"]
        return at

    async def park_turn(self, turn_id: str) -> None:
        """Give up a turn until its questions are answered, durably."""
        await self._write(("park_turn", {"id": turn_id}), durable=True)

    async def parked_turn(self, session_id: str) -> str | None:
        """The id of the session's turn that waits for an answer."""
        rows = await self._rows("parked_turn", session_id=session_id, now=clock.now())
        return rows[0]["id"] if rows else None

    async def answered_turns(self) -> list[Mapping[str, Any]]:
        """Parked turns that can continue: ``session_id channel chat_id``."""
        return await self._rows("answered_turns", now=clock.now())

    async def add_steering(self, turn_id: str, text: str, origins: Sequence[Origin]) -> None:
        """Add a text for a parked turn."""
        added = {"text": text, "origins": origins_to_json(origins)}
        texts = [*await self._stored_steering(turn_id), added]
        await self._write(("set_steering", {"id": turn_id, "steering": dump(texts)}))

    async def steering(self, turn_id: str) -> list[TextBlock]:
        """The texts that were added to a parked turn."""
        return [
            TextBlock(added["text"], origins=origins_from_json(added["origins"]))
            for added in await self._stored_steering(turn_id)
        ]

    async def _stored_steering(self, turn_id: str) -> list[Any]:
        rows = await self._rows("steering", id=turn_id)
        return json.loads(rows[0]["steering"] or "[]") if rows else []


_COLUMNS = ("id", "kind", "channel", "chat_id", "asker", "created", "expires", "handler", "subject")
REPLY_KEY = "reply"
"""The call key of a question that a reply ended with."""


def insert_question(question: StoredQuestion, call: AskingCall) -> Statement:
    """The statement that stores an open question of a call."""
    body = {
        "text": question.text,
        "preview": question.preview,
        "choices": list(question.choices),
        "reason": question.reason,
        "tool": question.tool,
        "marks": list(question.marks),
        "covers": list(question.covers),
        "data": dict(question.data),
        "fields": fields_to_json(question.fields),
        "files": bound_files_to_json(question.files),
    }
    row = {name: getattr(question, name) for name in _COLUMNS}
    row |= {"session_id": question.session, "turn_id": call.turn, "call_key": call.key}
    row |= {"waiting_turn": call.waiting_turn or call.turn, "same_call": call.same_call}
    return "insert_question", {**row, "body": dump(body)}


def _insert_question_call(question_id: str, turn_id: str, call_key: str) -> Statement:
    row = {"question_id": question_id, "turn_id": turn_id, "call_key": call_key}
    return "insert_question_call", row


def insert_question_chat(question_id: str, place: QuestionPlace) -> Statement:
    """The statement that records that a chat shows a question."""
    row = {"question_id": question_id, "channel": place.channel, "chat_id": place.chat_id}
    return "insert_question_chat", {**row, "person": place.person, "reply_id": place.reply_id}


def new_question(
    question: Question, question_id: str, session: Any, asker: str, expires: float | None
) -> StoredQuestion:
    """The question of a turn in ``session``, open from now on."""
    return StoredQuestion(
        question_id,
        question.kind,
        question.text,
        question.preview,
        question.choices,
        question.reason,
        question.call.name if question.call is not None else "",
        session.id,
        session.channel,
        session.chat_id,
        asker,
        clock.now(),
        expires,
        "open",
        marks=question.marks,
        covers=question.covers,
        fields=question.fields,
        files=question.files,
    )


def _first(rows: Sequence[Mapping[str, Any]]) -> StoredQuestion | None:
    return _question(rows[0]) if rows else None


def _question(row: Mapping[str, Any]) -> StoredQuestion:
    """The question in a row. A damaged one can only be denied."""
    try:
        body = json.loads(row["body"])
        choices = tuple(str(choice) for choice in body["choices"])
        text, preview = str(body["text"]), str(body["preview"])
        reason, tool = str(body["reason"]), str(body["tool"])
        marks = tuple(str(mark) for mark in body["marks"])
        covers = tuple(str(covered) for covered in body["covers"])
        data = dict(body.get("data") or {})
        fields = fields_from_json(body.get("fields") or ())
        files = bound_files_from_json(body.get("files") or ())
    except (ValueError, LookupError, TypeError):
        text, preview, choices = "(This question cannot be read.)", "", (DENY,)
        reason = tool = ""
        marks = covers = ()
        data, fields, files = {}, (), ()
    answer = None
    if row["state"] == "answered":
        answer = QuestionAnswer(row["choice"], row["words"], row["answered_by"])
    state: QuestionState = row["state"]
    if state == "open" and row["expires"] is not None and row["expires"] <= clock.now():
        state = "expired"
    return StoredQuestion(
        row["id"],
        row["kind"],
        text,
        preview,
        choices,
        reason,
        tool,
        row["session_id"],
        row["channel"],
        row["chat_id"],
        row["asker"],
        row["created"],
        row["expires"],
        state,
        answer,
        marks,
        covers,
        row["call_key"] == REPLY_KEY,
        row["turn_id"],
        row["handler"],
        row["subject"],
        data,
        fields=fields,
        files=files,
    )
