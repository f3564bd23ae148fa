"""What the store keeps of sessions and turns: one function for each step worth surviving.

SQL lies in ``store/sql``. Writes are handed to the store in the order of the calls; a turn waits
for them at :meth:`Journal.settle` and where something is acknowledged.
"""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from functools import cache
from importlib.resources import files
from typing import Any, TypeAlias

from hookline_hookspecs.drivers import Connection, Migration, Store
from hookline_hookspecs.events import Inbound, ModelResponse, Reply, Session, ToolResult, Usage
from hookline_hookspecs.messages import Message, ToolCall

from .. import clock
from ..sessions.prompt import Part, StablePrompt
from ..store.codec import inbound_from_json, inbound_to_json, reply_to_json

Statement: TypeAlias = "tuple[str, Mapping[str, Any]]"
"""A query's name and its parameters."""
INBOX_DAYS = 7
"""How long inbound ids are kept, so that a redelivery is known."""


@cache
def queries() -> Mapping[str, str]:
    """Core's SQL by name."""
    import aiosql

    found = aiosql.from_path(
        str(files("hookline.store") / "sql"), "sqlite3", mandatory_parameters=False
    )
    return {name: getattr(found, name).sql for name in found.available_queries}


def core_migrations(dialect: str) -> list[Migration]:
    """The forward steps of core's own tables, in order."""
    folder = files("hookline.store") / "sql" / dialect / "migrations"
    if not folder.is_dir():
        return []
    steps = sorted(folder.iterdir(), key=lambda item: item.name)
    return [
        Migration(int(item.name.split("_")[0]), item.name, item.read_text(encoding="utf-8"))
        for item in steps
        if item.name.endswith(".sql")
    ]


def new_id() -> str:
    """A new identifier: 32 hexadecimal digits."""
    return os.urandom(16).hex()


def dump(value: object) -> str:
    """Compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class Journal:
    """Reads and writes sessions, turns, inbox, outbox and usage."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.sql = queries()

    async def _rows(self, query: str, **params: Any) -> list[Mapping[str, Any]]:
        return await self.store.read(lambda db: db.fetch(self.sql[query], params))

    def _all(self, statements: Sequence[Statement], durable: bool = False) -> Awaitable[int]:
        """Run the statements in one transaction; how many rows they touched."""

        def work(db: Connection) -> int:
            return sum(db.execute(self.sql[name], params) for name, params in statements)

        return self.store.write(work, durable=durable)

    def _do(self, query: str, **params: Any) -> Awaitable[int]:
        return self._all([(query, params)])

    # Inbox

    def receive(self, inbound: Inbound, *, durable: bool) -> tuple[str, Awaitable[int]]:
        """Store an inbound message: its id, and the write: 0 if it was there already."""
        row = {name: getattr(inbound, name) for name in _INBOX}
        row |= {"id": new_id(), "body": inbound_to_json(inbound)}
        row["received"] = inbound.received or clock.now()
        return row["id"], self._all([("insert_inbox", row)], durable=durable)

    def close_inbound(
        self, inbox_id: str | None, session_id: str | None, reply: Reply | None
    ) -> Awaitable[int]:
        """An inbound message needs no further work; its reply goes into the outbox with that."""
        done = {"id": inbox_id, "state": "done", "session_id": session_id}
        statements: list[Statement] = [("set_inbox", done)] if inbox_id is not None else []
        statements += [_reply(reply, None)] if reply is not None else []
        return self._all(statements, durable=reply is not None)

    async def open_inbox(self) -> list[tuple[str, Inbound]]:
        """Messages that were received and not finished, oldest first."""
        rows = await self._rows("open_inbox")
        return [(row["id"], inbound_from_json(row["body"])) for row in rows]

    def prune(self) -> Awaitable[int]:
        """Forget finished messages and delivered replies past :data:`INBOX_DAYS`."""
        old = {"before": clock.now() - INBOX_DAYS * 86400}
        return self._all([("prune_inbox", old), ("prune_outbox", old)])

    # Sessions

    @staticmethod
    def new_session(
        session: Session, stable: StablePrompt, *, model: str, workspace: str, summary: Any
    ) -> Statement:
        """What stores a session with its frozen prompt, together with what first happens in it."""
        row = {name: getattr(session, name) for name in _SESSION}
        row |= {"model": model, "workspace": workspace, "summary": summary}
        return "insert_session", {**row, **_stable(stable)}

    def create_session(self, creating: Statement) -> Awaitable[int]:
        """Store a session in which no turn begins."""
        return self._all([creating])

    async def session(self, session_id: str) -> Mapping[str, Any] | None:
        """The stored row of a session."""
        rows = await self._rows("session", id=session_id)
        return rows[0] if rows else None

    async def opening(self, session_id: str, name: str, inbound: Inbound) -> Mapping[str, Any]:
        """What the session's new owner has to know (see the query); ``name`` is its stem."""
        asked = {"channel": inbound.channel, "message_id": inbound.message_id}
        return (await self._rows("opening", id=session_id, named=name, **asked))[0]

    async def active_session(self, channel: str, chat_id: str) -> str | None:
        """The chat's current session."""
        rows = await self._rows("active_session", channel=channel, chat_id=chat_id)
        return rows[0]["id"] if rows else None

    async def sessions(
        self,
        channel: str | None = None,
        chat_id: str | None = None,
        kind: str | None = None,
        limit: int = 50,
    ) -> list[Mapping[str, Any]]:
        """Sessions, newest first."""
        return await self._rows(
            "list_sessions", channel=channel, chat_id=chat_id, kind=kind, limit=limit
        )

    def end_session(self, session_id: str, successor: str | None = None) -> Awaitable[int]:
        """A session is over."""
        return self._do("end_session", id=session_id, now=clock.now(), successor=successor)

    def refreeze(self, session_id: str, stable: StablePrompt) -> Awaitable[int]:
        """Replace a session's frozen prompt, before its first request has left."""
        return self._do("set_stable", id=session_id, **_stable(stable))

    def update_session(self, query: str, session_id: str, **params: Any) -> Awaitable[int]:
        """One of ``set_title set_model set_question reopen_session``."""
        return self._do(query, id=session_id, **params)

    def delete_session(self, session_id: str) -> Awaitable[int]:
        """Remove a session and all that was said in it."""
        parts = ("steps", "messages", "sidecars", "rewrites", "turns", "outbox", "inbox")
        names = [f"delete_session_{part}" for part in parts] + ["delete_session"]
        return self._all([(name, {"id": session_id}) for name in names])

    async def messages(self, session_id: str) -> list[Mapping[str, Any]]:
        """Stored messages with their sidecars, oldest first."""
        return await self._rows("messages", session_id=session_id)

    async def search(self, pattern: str, limit: int) -> list[Mapping[str, Any]]:
        """Messages whose text is LIKE ``pattern`` (masked with a backslash), newest first."""
        return await self._rows("search_messages", pattern=pattern, limit=limit)

    # What went wrong

    def plugin_failed(self, plugin: str, hook: str, reason: str) -> Awaitable[int]:
        """Keep a plugin's failure, of the last twenty of each."""
        row = {"plugin": plugin, "hook": hook, "reason": reason, "now": clock.now()}
        return self._all([("insert_plugin_error", row), ("prune_plugin_errors", row)])

    async def plugin_errors(self) -> list[Mapping[str, Any]]:
        """The kept failures, newest first."""
        return await self._rows("plugin_errors")

    async def last_break(self, session_id: str) -> Mapping[str, Any] | None:
        """The newest break of a session's prefix: a ``PrefixBreak`` as a mapping, and ``at``."""
        rows = await self._rows("last_break", session_id=session_id)
        return {**json.loads(rows[0]["broken"]), "at": rows[0]["created"]} if rows else None

    # Turns

    def begin_turn(
        self,
        turn_id: str,
        session_id: str,
        inbox_id: str | None,
        seq: int,
        message: Message,
        first: Sequence[Statement] = (),
    ) -> Awaitable[int]:
        """A turn starts with this user message and its sidecar, after what comes ``first``."""
        now = clock.now()
        turn = {"id": turn_id, "session_id": session_id, "inbox_id": inbox_id, "now": now}
        statements: list[Statement] = [
            *first,
            ("insert_turn", turn),
            ("touch_session", {"id": session_id, "now": now}),
            _message(session_id, turn_id, seq, message),
        ]
        if message.context:
            statements.append(_sidecar(session_id, seq, message.context))
        if inbox_id:
            taken = {"id": inbox_id, "state": "taken", "session_id": session_id}
            statements.append(("set_inbox", taken))
        return self._all(statements)

    def set_sidecar(self, session_id: str, seq: int, text: str) -> Awaitable[int]:
        """Replace the sidecar of a message."""
        return self._all([_sidecar(session_id, seq, text)])

    def say(self, session_id: str, turn_id: str, seq: int, message: Message) -> Awaitable[int]:
        """A message joins the history."""
        return self._all([_message(session_id, turn_id, seq, message)])

    def respond(
        self,
        session_id: str,
        turn_id: str,
        seq: int,
        message: Message,
        steps: Iterable[tuple[ToolCall, bool]],
        response: ModelResponse,
    ) -> Awaitable[int]:
        """A model's response: the message, its tool calls (with ``read_only``) and its cost."""
        statements = [_message(session_id, turn_id, seq, message)]
        for number, (call, read_only) in enumerate(steps):
            row = {"turn_id": turn_id, "call_id": call.id, "seq": seq * 1000 + number}
            row |= {"name": call.name, "arguments": dump(call.arguments), "now": clock.now()}
            statements.append(("insert_step", {**row, "read_only": int(read_only)}))
        statements.append(_usage(session_id, turn_id, "turn", response))
        return self._all(statements)

    def spend(
        self, session_id: str, turn_id: str, purpose: str, response: ModelResponse
    ) -> Awaitable[int]:
        """What a model call outside of the history has cost."""
        return self._all([_usage(session_id, turn_id, purpose, response)])

    def start_step(self, turn_id: str, call_id: str) -> Awaitable[int]:
        """A tool that may change something is about to run."""
        return self._do("start_step", turn_id=turn_id, call_id=call_id, now=clock.now())

    def finish_step(
        self, turn_id: str, session_id: str, result: ToolResult, question: str | None
    ) -> Awaitable[int]:
        """A tool call has its result, and with it the session its open ``question``, if any."""
        row = {"turn_id": turn_id, "call_id": result.call.id, "ok": int(result.ok)}
        row |= {"result": result.text, "seconds": result.seconds}
        statements: list[Statement] = [("finish_step", row)]
        if question is not None:
            statements.append(("set_question", {"id": session_id, "question": question}))
        return self._all(statements)

    def end_turn(
        self,
        turn_id: str,
        *,
        state: str,
        stop: str,
        iterations: int,
        error: str | None = None,
        inbox_id: str | None = None,
        reply: Reply | None = None,
        session_id: str,
        warm_until: float,
    ) -> Awaitable[Mapping[str, Any] | None]:
        """A turn is over; its reply is in the outbox once this returns, power cut or not.

        Returns the session's row as it is now.
        """
        end = {"id": turn_id, "state": state, "stop": stop, "iterations": iterations}
        statements: list[Statement] = [("end_turn", {**end, "error": error, "now": clock.now()})]
        if inbox_id:
            done = {"id": inbox_id, "state": "done", "session_id": None}
            statements.append(("set_inbox", done))
        if reply is not None:
            statements.append(_reply(reply, turn_id))
        statements.append(("set_warm", {"id": session_id, "warm_until": warm_until}))

        def work(db: Connection) -> Mapping[str, Any] | None:
            for name, params in statements:
                db.execute(self.sql[name], params)
            return next(iter(db.fetch(self.sql["session"], {"id": session_id})), None)

        return self.store.write(work, durable=True)

    async def open_turns(self, session_id: str) -> list[Mapping[str, Any]]:
        """Turns that never ended, oldest first, with their inbound message."""
        return await self._rows("open_turns", session_id=session_id)

    async def unfinished_sessions(self) -> list[str]:
        """Sessions with a turn that never ended."""
        return [row["session_id"] for row in await self._rows("sessions_with_open_turns")]

    async def steps(self, turn_id: str) -> dict[str, Mapping[str, Any]]:
        """The turn's tool calls by id."""
        return {row["call_id"]: row for row in await self._rows("steps", turn_id=turn_id)}

    def undo_turn(self, session_id: str, turn_id: str) -> Awaitable[int]:
        """Take a turn's messages out of the history."""
        where = {"session_id": session_id, "turn_id": turn_id}
        names = ("delete_turn_sidecars", "delete_turn_messages", "delete_turn_rewrites")
        undone = ("undo_turn", {"id": turn_id})
        return self._all([*((name, where) for name in names), undone, _touch(session_id)])

    async def rewrites(self, session_id: str) -> list[Mapping[str, Any]]:
        """What parts of a history were replaced by, in the order of their making."""
        return await self._rows("rewrites", session_id=session_id)

    def rewrite(
        self, session_id: str, rows: Iterable[Mapping[str, Any]], turn_id: str
    ) -> Awaitable[int]:
        """Replace parts of a history; of the sidecars only those of ``turn_id`` stay."""
        where = {"session_id": session_id}
        statements: list[Statement] = [("drop_sidecars", {**where, "turn_id": turn_id})]
        statements += [("insert_rewrite", {**where, **row, "now": clock.now()}) for row in rows]
        return self._all([*statements, _touch(session_id)])

    async def usage(self, session_id: str) -> list[Mapping[str, Any]]:
        """A session's tokens by model and purpose."""
        return await self._rows("session_usage", session_id=session_id)

    async def turn_usage(self, turn_id: str) -> tuple[int, Usage]:
        """A turn's model calls and their tokens."""
        row = dict((await self._rows("turn_usage", turn_id=turn_id))[0])
        return int(row.pop("requests")), Usage(**row)

    # Outbox

    async def open_outbox(self, channel: str) -> list[Mapping[str, Any]]:
        """Replies that are not confirmed, oldest first."""
        return await self._rows("open_outbox", channel=channel)

    def set_outbox(
        self, reply_id: str, state: str, *, due: float = 0.0, delivered_id: str | None = None
    ) -> Awaitable[int]:
        """``sent`` once confirmed, ``pending`` until ``due``, ``sending`` while under way."""
        values = {"state": state, "due": due, "delivered_id": delivered_id}
        return self._do("set_outbox", id=reply_id, tried=int(state == "sending"), **values)


_INBOX = ("channel", "message_id", "chat_id", "session_id")
_PART, _USAGE = (tuple([field.name for field in fields(kind)]) for kind in (Part, Usage))
_SESSION = ("id", "channel", "chat_id", "kind", "parent_id", "title", "created")


def _stable(stable: StablePrompt) -> dict[str, str]:
    parts = dump([{name: getattr(part, name) for name in _PART} for part in stable.parts])
    return {"system": stable.system, "tools": stable.tools_json(), "parts": parts}


def _message(session_id: str, turn_id: str, seq: int, message: Message) -> Statement:
    row = {"session_id": session_id, "seq": seq, "turn_id": turn_id, "role": message.role}
    body = dump(message.to_dict())
    return "insert_message", {**row, "body": body, "text": message.text, "now": clock.now()}


def _touch(session_id: str) -> Statement:
    return "touch_history", {"id": session_id, "now": clock.now()}


def _sidecar(session_id: str, seq: int, text: str) -> Statement:
    return "set_sidecar", {"session_id": session_id, "seq": seq, "text": text}


def _usage(session_id: str, turn_id: str, purpose: str, response: ModelResponse) -> Statement:
    row: dict[str, Any] = {"session_id": session_id, "turn_id": turn_id, "model": response.model}
    broken = dump(asdict(response.broken)) if response.broken is not None else None
    row |= {"purpose": purpose, "broken": broken, "now": clock.now()}
    return "insert_usage", {**row, **{name: getattr(response.usage, name) for name in _USAGE}}


def _reply(reply: Reply, turn_id: str | None) -> Statement:
    session = reply.session
    row = {"id": reply.id, "session_id": session.id, "turn_id": turn_id, "state": "pending"}
    place = {"channel": session.channel, "chat_id": session.chat_id, "now": clock.now()}
    return "insert_outbox", {**row, **place, "body": reply_to_json(reply)}


def parts_from_json(text: str) -> tuple[Part, ...]:
    """The sections of a stored prompt."""
    return tuple(Part(**item) for item in json.loads(text))
