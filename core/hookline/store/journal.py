"""Stores sessions and turns: one method for each step that must survive the process.

The SQL is in ``store/sql``. Writes are committed in the order of the calls. Methods that write
return an awaitable; a turn collects these and awaits them before it acknowledges anything.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from functools import cache
from importlib.resources import files
from typing import Any, TypeAlias

from hookline_hookspecs.drivers import Batch, Migration, Store
from hookline_hookspecs.inbound import Inbound
from hookline_hookspecs.inspection import StablePrompt
from hookline_hookspecs.messages import Message, ToolCall
from hookline_hookspecs.origins import origins_to_json
from hookline_hookspecs.replies import Reply
from hookline_hookspecs.requests import ModelResponse
from hookline_hookspecs.tool_results import ToolResult
from hookline_hookspecs.turns import Session, Usage

from .. import clock
from ..text import dump, new_id
from .codec import stored_inbound, to_json

Statement: TypeAlias = "tuple[str, Mapping[str, Any]]"
"""A query's name and its parameters."""
KEEP_FINISHED_DAYS = 7
"""Days for which finished messages are kept, so that repeats are recognised."""


@cache
def queries() -> Mapping[str, str]:
    """Core's SQL by name."""
    import aiosql

    found = aiosql.from_path(
        str(files("hookline.store") / "sql"), "sqlite3", mandatory_parameters=False
    )
    return {name: getattr(found, name).sql for name in found.available_queries}


def core_migrations(dialect: str) -> list[Migration]:
    """The migrations of core's tables, in order."""
    folders = [files("hookline.store") / "sql" / "migrations" / name for name in (".", dialect)]
    found = {item.name: item for folder in folders if folder.is_dir() for item in folder.iterdir()}
    steps = sorted(name for name in found if name.endswith(".sql"))
    return [
        Migration(int(name.split("_")[0]), name, found[name].read_text("utf-8")) for name in steps
    ]


class Journal:
    """Reads and writes sessions, turns, inbox, outbox and usage.

    A row in progress names the node that owns it (see ``engine.Node``). A claim is one statement
    that takes a row without an owner, or one that still belongs to ``previous``. Only the process
    whose claim returns 1 continues.
    """

    def __init__(self, store: Store, node: str, sends: Callable[[str], bool]) -> None:
        self.store = store
        self.node = node
        self._sends = sends
        self.sql = queries()

    async def _rows(self, query: str, **params: Any) -> list[Mapping[str, Any]]:
        return await self.store.read(lambda db: db.fetch(self.sql[query], params))

    def _write(self, statements: Sequence[Statement], durable: bool = False) -> Awaitable[None]:
        """Run the statements in one transaction."""
        return self.store.write(
            Batch([(self.sql[name], row) for name, row in statements]), durable=durable
        )

    def _write_one(self, query: str, **params: Any) -> Awaitable[None]:
        return self._write([(query, params)])

    def _write_counted(self, statements: Sequence[Statement], durable: bool) -> Awaitable[int]:
        """Run the statements in one transaction; return the row count of the last one."""
        rows = [(self.sql[name], row) for name, row in statements]
        return self.store.write(lambda db: db.batch(rows)[-1], durable=durable)

    def claim(self, query: str, row_id: str, previous: str | None) -> Awaitable[int]:
        """Run ``claim_inbox``, ``claim_pending``, ``claim_turn`` or ``claim_outbox`` for a row.

        ``claim_outbox`` also counts an attempt to send.
        """
        return self._write_counted(
            [(query, {"id": row_id, "node": self.node, "previous": previous or self.node})], False
        )

    # Inbox

    def receive(
        self,
        inbound: Inbound,
        *,
        durable: bool,
        mine: bool = True,
        files: Sequence[Mapping[str, Any]] | None = None,
    ) -> tuple[str, Awaitable[int | None]]:
        """Store an inbound message, in the state ``files_pending`` if ``files`` is given.

        Returns its id and the write. If ``durable``, the write returns 0 for a repeated message.
        """
        row = {name: getattr(inbound, name) for name in _INBOX}
        row |= {"id": new_id(), "owner": self.node if mine else None, "body": to_json(inbound)}
        row["received"] = inbound.received or clock.now()
        row["state"] = "new" if files is None else "files_pending"
        row["files"] = None if files is None else dump(files)
        insert: list[Statement] = [("insert_inbox", row)]
        return row["id"], self._write_counted(insert, durable) if durable else self._write(insert)

    def complete_files(self, inbox_id: str, inbound: Inbound, *, mine: bool) -> Awaitable[int]:
        """Store a message with its fetched files; 0 if it was withdrawn meanwhile."""
        row = {"id": inbox_id, "body": to_json(inbound), "owner": self.node if mine else None}
        return self._write_counted([("complete_files", row)], True)

    async def pending_inbox(self, channel: str) -> list[Mapping[str, Any]]:
        """A channel's messages that wait for files, oldest first: ``id owner inbound files``."""
        rows = await self._rows("pending_inbox", channel=channel)
        found = [(row, stored_inbound(row["id"], row["body"])) for row in rows]
        return [
            {**row, "inbound": inbound, "files": json.loads(row["files"])}
            for row, inbound in found
            if inbound is not None
        ]

    def close_inbound(
        self,
        inbox_id: str | None,
        session_id: str | None,
        reply: Reply | None,
        *,
        left_over: bool = False,
    ) -> Awaitable[None]:
        """Mark an inbound message as done and store its reply, if any, in the outbox.

        The reply to a ``left_over`` message gets no owner, because this process may not run the
        channel.
        """
        done = {"id": inbox_id, "state": "done", "session_id": session_id}
        statements: list[Statement] = [("set_inbox", done)] if inbox_id is not None else []
        statements += [self._reply(reply, None, left_over)] if reply is not None else []
        return self._write(statements, durable=reply is not None)

    def queue_inbound(self, inbox_id: str, session_id: str, notice: Reply) -> Awaitable[None]:
        """Leave a message until the session's parked turn has its answer, and store a notice."""
        queued: Statement = ("queue_inbox", {"id": inbox_id, "session_id": session_id})
        return self._write([queued, self._reply(notice, None)], durable=True)

    def withdraw_inbound(self, channel: str, chat_id: str, message_id: str) -> Awaitable[int]:
        """Mark a message of :meth:`queue_inbound` as done; 0 if there is none."""
        row = {"channel": channel, "chat_id": chat_id, "message_id": message_id}
        return self._write_counted([("withdraw_inbox", row)], False)

    async def open_inbox(
        self, channel: str | None = None, chat_id: str = ""
    ) -> list[Mapping[str, Any]]:
        """Messages without a turn, oldest first, of one chat or all: ``id owner inbound``."""
        place = {"channel": channel, "chat_id": chat_id, "now": clock.now()}
        rows = await self._rows("open_inbox", **place)
        found = [(row, stored_inbound(row["id"], row["body"])) for row in rows]
        return [{**row, "inbound": inbound} for row, inbound in found if inbound is not None]

    def prune(self) -> Awaitable[None]:
        """Delete messages and replies finished more than :data:`KEEP_FINISHED_DAYS` ago."""
        old = {"before": clock.now() - KEEP_FINISHED_DAYS * 86400}
        names = ("inbox", "outbox", "questions", "question_calls", "question_chats")
        return self._write([(f"prune_{name}", old) for name in names])

    # Sessions

    @staticmethod
    def new_session(
        session: Session, stable: StablePrompt, *, model: str, workspace: str, summary: Any
    ) -> Statement:
        """The statement that stores a session; it runs with the session's first write."""
        row = {name: getattr(session, name) for name in _SESSION}
        row |= {"model": model, "workspace": workspace, "summary": summary}
        return "insert_session", {**row, **_stable(stable)}

    def create_session(
        self, creating: Statement, history: Iterable[tuple[int, Message]]
    ) -> Awaitable[None]:
        """Store a session before its first turn, with numbered messages outside any turn."""
        return self._write(
            [creating, *(_message(creating[1]["id"], "", seq, message) for seq, message in history)]
        )

    def archive_session(
        self, creating: Statement, timed: Iterable[tuple[float, Message]], ended: float
    ) -> Awaitable[None]:
        """Store a session that has ended, with pairs of Unix time and message."""
        row = {"id": creating[1]["id"], "now": ended}
        messages = [
            _message(row["id"], "", seq, message, at) for seq, (at, message) in enumerate(timed, 1)
        ]
        return self._write(
            [
                creating,
                *messages,
                ("touch_history", row),
                ("end_session", {**row, "successor": None}),
            ]
        )

    async def session(self, session_id: str) -> Mapping[str, Any] | None:
        """The stored row of a session."""
        return next(iter(await self._rows("session", id=session_id)), None)

    async def session_for_owner(
        self, session_id: str, name: str, inbound: Inbound
    ) -> Mapping[str, Any]:
        """A session's row with ``left_over``, ``known`` and ``active`` (see the query)."""
        message = {
            "channel": inbound.channel,
            "chat_id": inbound.chat_id,
            "message_id": inbound.message_id,
        }
        return (await self._rows("session_for_owner", id=session_id, named=name, **message))[0]

    async def active_session(self, channel: str, chat_id: str) -> str | None:
        """The id of the chat's current session, or None."""
        rows = await self._rows("active_session", channel=channel, chat_id=chat_id)
        return rows[0]["id"] if rows else None

    async def sessions(self, limit: int = 50, **filters: str | None) -> list[Mapping[str, Any]]:
        """Sessions, newest first; ``filters`` are ``channel``, ``chat_id`` and ``kind``."""
        all_filters = dict.fromkeys(("channel", "chat_id", "kind")) | filters
        return await self._rows("list_sessions", limit=limit, **all_filters)

    def end_session(self, session_id: str, successor: str | None = None) -> Awaitable[None]:
        """Mark a session as ended."""
        return self._write_one("end_session", id=session_id, now=clock.now(), successor=successor)

    def refreeze(self, session_id: str, stable: StablePrompt) -> Awaitable[None]:
        """Replace a session's frozen prompt before its first request is sent."""
        return self._write_one("set_stable", id=session_id, **_stable(stable))

    def update_session(self, query: str, session_id: str, **params: Any) -> Awaitable[None]:
        """Run ``set_title``, ``set_model``, ``set_failures``, ``set_question`` or
        ``reopen_session``."""
        return self._write_one(query, id=session_id, **params)

    def delete_session(self, session_id: str) -> Awaitable[None]:
        """Delete a session with all its rows."""
        history = ("steps", "messages", "sidecars", "rewrites", "turns", "outbox", "inbox")
        questions = ("question_chats", "question_calls", "questions")
        names = [f"delete_session_{part}" for part in (*history, *questions)]
        names.append("delete_session")
        return self._write([(name, {"id": session_id}) for name in names])

    async def messages(self, session_id: str, first: int = 0) -> list[Mapping[str, Any]]:
        """Stored messages with their sidecars, oldest first, from number ``first`` on."""
        return await self._rows("messages", session_id=session_id, first=first)

    # Turns

    def begin_turn(
        self, turn: Mapping[str, Any], seq: int, message: Message, first: Sequence[Statement] = ()
    ) -> Awaitable[None]:
        """Store a new turn with its user message, after the statements in ``first``.

        ``turn`` has ``id session_id inbox_id now``.
        """
        session_id, inbox_id, now = turn["session_id"], turn["inbox_id"], turn["now"]
        statements: list[Statement] = [
            *first,
            ("insert_turn", {**turn, "owner": self.node}),
            ("touch_session", {"id": session_id, "now": now}),
            _message(session_id, turn["id"], seq, message),
        ]
        if message.context:
            statements.append(_sidecar(session_id, seq, message.context))
        if inbox_id:
            taken = {"id": inbox_id, "state": "taken", "session_id": session_id}
            statements.append(("set_inbox", taken))
        return self._write(statements)

    def set_sidecar(self, session_id: str, seq: int, text: str) -> Awaitable[None]:
        """Replace the sidecar of a message."""
        return self._write([_sidecar(session_id, seq, text)])

    def append_message(
        self, session_id: str, turn_id: str, seq: int, message: Message
    ) -> Awaitable[None]:
        """Append a message to the history."""
        return self._write([_message(session_id, turn_id, seq, message)])

    def record_response(
        self,
        session_id: str,
        turn_id: str,
        seq: int,
        message: Message,
        steps: Iterable[tuple[ToolCall, bool]],
        response: ModelResponse,
    ) -> Awaitable[None]:
        """Store a response: the message, its tool calls (with ``read_only``) and its usage."""
        now = clock.now()
        statements = [_message(session_id, turn_id, seq, message, now)]
        for number, (call, read_only) in enumerate(steps):
            row = {"turn_id": turn_id, "call_id": call.id, "seq": seq * 1000 + number}
            row |= {"name": call.name, "arguments": dump(call.arguments), "now": now}
            statements.append(("insert_step", {**row, "read_only": int(read_only)}))
        statements.append(_usage(session_id, turn_id, "turn", response, now))
        return self._write(statements)

    def record_usage(
        self, session_id: str, turn_id: str, purpose: str, response: ModelResponse
    ) -> Awaitable[None]:
        """Store the usage of a model call that is not part of the history."""
        return self._write([_usage(session_id, turn_id, purpose, response)])

    def start_step(self, turn_id: str, call_id: str) -> Awaitable[None]:
        """Record that a tool that may change something is about to run."""
        return self._write_one("start_step", turn_id=turn_id, call_id=call_id, now=clock.now())

    def finish_step(
        self, turn_id: str, session_id: str, result: ToolResult, question: str | None
    ) -> Awaitable[None]:
        """Store a call's result, and the ``question`` it leaves open in the session, if any."""
        row = {"turn_id": turn_id, "call_id": result.call.id, "ok": int(result.ok)}
        row |= {"result": result.text, "seconds": result.seconds}
        row["origins"] = dump(origins_to_json(result.origins))
        statements: list[Statement] = [("finish_step", row)]
        if question is not None:
            statements.append(("set_question", {"id": session_id, "question": question}))
        return self._write(statements)

    async def end_turn(
        self,
        turn: Mapping[str, Any],
        reply: Reply | None,
        *,
        left_over: bool,
        direct: bool,
        question: Sequence[Statement] = (),
    ) -> Mapping[str, Any] | None:
        """End a turn and store its reply in the outbox, durably.

        ``question`` stores the question that the reply ends with.

        ``turn`` has ``id session_id inbox_id last state stop iterations error warm_until``. The
        reply of a ``left_over`` turn gets no owner, because this process may not run the channel.
        With ``direct``, try to claim the reply and return its row, in state ``claimed``, for
        sending from memory; None if it was not claimed.

        Raises:
            StoreError: the turn's message number ``last`` is not stored. It need not be committed
                yet; it may be part of the same transaction.
        """
        warm = {**turn, "id": turn["session_id"]}
        statements: list[Statement] = [
            ("end_turn", {**turn, "now": clock.now()}),
            ("set_warm", warm),
            *question,
        ]
        statements += [("close_inbox", turn)] if turn["inbox_id"] else []
        statements += [self._reply(reply, turn["id"], left_over)] if reply is not None else []
        if not (direct and reply):
            await self._write(statements, durable=True)
            return None
        stored = statements[-1][1]
        statements.append(("claim_new_reply", stored))
        if not await self._write_counted(statements, durable=True):
            return None
        return {**stored, "created": stored["now"], "due": 0.0, "attempts": 0, "state": "claimed"}

    async def open_turns(self, session_id: str, *, waiting: bool) -> list[Mapping[str, Any]]:
        """Turns that have not ended, oldest first, with their message.

        Without those that wait for an answer, unless ``waiting``.
        """
        where = {"session_id": session_id, "waiting": int(waiting), "now": clock.now()}
        return await self._rows("open_turns", **where)

    async def running_turns(self, session_id: str) -> list[Mapping[str, Any]]:
        """Turns that have not ended, oldest first, with their message and the session's channel."""
        return await self._rows("running_turns", session_id=session_id)

    async def turn(self, turn_id: str) -> Mapping[str, Any]:
        """A stored turn. Raises ``LookupError`` if there is none."""
        return (await self._rows("turn", id=turn_id))[0]

    async def unfinished_sessions(self, channel: str | None, chat_id: str) -> list[str]:
        """The ids of sessions with an unfinished turn, of one chat or all."""
        place = {"channel": channel, "chat_id": chat_id, "now": clock.now()}
        rows = await self._rows("sessions_with_open_turns", **place)
        return [row["session_id"] for row in rows]

    async def steps(self, turn_id: str) -> dict[str, Mapping[str, Any]]:
        """The turn's tool calls by id."""
        return {row["call_id"]: row for row in await self._rows("steps", turn_id=turn_id)}

    def undo_turn(self, session_id: str, turn_id: str) -> Awaitable[None]:
        """Remove a turn's messages from the history."""
        where = {"session_id": session_id, "turn_id": turn_id}
        names = ("delete_turn_sidecars", "delete_turn_messages", "delete_turn_rewrites")
        undone = ("undo_turn", {"id": turn_id})
        return self._write([*((name, where) for name in names), undone, _touch(session_id)])

    async def rewrites(self, session_id: str) -> list[Mapping[str, Any]]:
        """The rewrites of a history, oldest first."""
        return await self._rows("rewrites", session_id=session_id)

    def rewrite(
        self, session_id: str, rows: Iterable[Mapping[str, Any]], turn_id: str
    ) -> Awaitable[None]:
        """Replace parts of a history; only the sidecars of ``turn_id`` are kept."""
        where = {"session_id": session_id}
        statements: list[Statement] = [("drop_sidecars", {**where, "turn_id": turn_id})]
        statements += [("insert_rewrite", {**where, **row, "now": clock.now()}) for row in rows]
        return self._write([*statements, _touch(session_id)])

    async def turn_usage(self, turn_id: str) -> tuple[int, Usage]:
        """The number of a turn's model calls, and their tokens."""
        row = dict((await self._rows("turn_usage", turn_id=turn_id))[0])
        return int(row.pop("requests")), Usage(**row)

    # Outbox

    def _reply(self, reply: Reply, turn_id: str | None, unowned: bool = False) -> Statement:
        """The statement that stores a reply, to be sent by the process that runs its channel."""
        session = reply.session
        owner = None if unowned or not self._sends(session.channel) else self.node
        row = {"id": reply.id, "session_id": session.id, "turn_id": turn_id, "owner": owner}
        place = {"channel": session.channel, "chat_id": session.chat_id, "now": clock.now()}
        return "insert_outbox", {**row, **place, "body": to_json(reply)}

    async def open_outbox(self, channel: str) -> list[Mapping[str, Any]]:
        """A channel's replies that are neither sent nor given up, oldest first."""
        return await self._rows("open_outbox", channel=channel)

    async def reply_body(self, reply_id: str) -> str | None:
        """A stored reply as JSON; None if there is none."""
        rows = await self._rows("reply", id=reply_id)
        return rows[0]["body"] if rows else None

    def postpone_reply(self, reply_id: str, due: float, *, keep: bool) -> Awaitable[None]:
        """Schedule the next attempt at the Unix time ``due``, by this process if ``keep``."""
        return self._write_one(
            "postpone_outbox", id=reply_id, due=due, owner=self.node if keep else None
        )

    def close_reply(
        self, reply_id: str, state: str, delivered_id: str | None = None
    ) -> Awaitable[None]:
        """Mark a reply as ``sent`` or ``failed``; it is not sent again."""
        return self._write_one(
            "close_outbox", id=reply_id, state=state, delivered_id=delivered_id, now=clock.now()
        )

    async def last_delivery(self, session_id: str) -> float:
        """The Unix time at which the reply of the session's last turn was sent; 0 if unknown."""
        rows = await self._rows("last_delivery", session_id=session_id)
        return max([0.0, *[float(row["at"]) for row in rows]])


_INBOX = ("channel", "message_id", "chat_id", "session_id")
_USAGE = tuple([field.name for field in fields(Usage)])
_PART = ("plugin", "slot", "text")
_SESSION = ("id", "channel", "chat_id", "kind", "parent_id", "title", "created")


def _stable(stable: StablePrompt) -> dict[str, str]:
    parts = dump([dict(zip(_PART, part, strict=True)) for part in stable.parts])
    return {"system": stable.system, "tools": stable.tools_json, "parts": parts}


def _message(
    session_id: str, turn_id: str, seq: int, message: Message, now: float | None = None
) -> Statement:
    row = {"session_id": session_id, "seq": seq, "turn_id": turn_id, "role": message.role}
    body = dump(message.to_dict())
    return "insert_message", {
        **row,
        "body": body,
        "text": message.text,
        "now": clock.now() if now is None else now,
    }


def _touch(session_id: str) -> Statement:
    return "touch_history", {"id": session_id, "now": clock.now()}


def _sidecar(session_id: str, seq: int, text: str) -> Statement:
    return "set_sidecar", {"session_id": session_id, "seq": seq, "text": text}


def _usage(
    session_id: str, turn_id: str, purpose: str, response: ModelResponse, now: float | None = None
) -> Statement:
    row: dict[str, Any] = {"session_id": session_id, "turn_id": turn_id, "model": response.model}
    broken = dump(asdict(response.broken)) if response.broken is not None else None
    row |= {"purpose": purpose, "broken": broken, "now": clock.now() if now is None else now}
    return "insert_usage", {**row, **{name: getattr(response.usage, name) for name in _USAGE}}
