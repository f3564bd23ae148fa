"""Finishes a session's unfinished turn for a caller that waits for its end."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from hookline_hookspecs import StoreError, Submission
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.inbound import Inbound
from hookline_hookspecs.messages import ToolCall
from hookline_hookspecs.questions import Question, Questions
from hookline_hookspecs.replies import Reply
from hookline_hookspecs.tool_results import ToolResult
from hookline_hookspecs.turns import Turn

from ..engine import Engine
from ..questions.service import QuestionService
from ..sessions.manager import Sessions
from ..sessions.state import SessionState
from ..store.codec import readable, reply_from_json, stored_inbound
from .recovery import SessionRecovery

MAX_WAIT = 7 * 86400.0
"""Seconds to wait for another process that runs the turn."""


@dataclass
class TurnResumption:
    """Implements ``Conversations.resume``."""

    engine: Engine
    sessions: Sessions
    recovery: SessionRecovery

    async def resume(self, session_id: str, mode: str) -> Submission | None:
        """Finish the session's last unfinished turn and wait for its end; None without one.

        A process that runs turns may be faster than this one; it is then waited for.
        """
        await self.engine.node.join()
        unfinished = await self.engine.journal.running_turns(session_id)
        if not unfinished:
            return None
        row = unfinished[-1]
        state: SessionState | None = None
        asks_here = mode == "ask" and row["channel"] == TERMINAL
        while (await self.engine.journal.turn(row["id"]))["state"] == "running":
            if not asks_here:
                await self._wait_for_answers(row["id"])
            asks_here = False  # if nobody was here to ask, the turn is parked again
            state = await self._recover(session_id, mode)
            ended = await self.engine.journal.turn(row["id"])
            if ended["state"] == "running" and not ended["parked"]:
                raise StoreError(f"Session {session_id} could not be continued.")
        return await self._submission(row, state)

    async def _wait_for_answers(self, turn_id: str) -> None:
        questions: QuestionService = self.engine.services[Questions]
        for question in await questions.table.open_of_turn(turn_id):
            await questions.wait_until_closed(question)

    async def _recover(self, session_id: str, mode: str) -> SessionState | None:
        async with self.sessions.lock(session_id, MAX_WAIT):
            state = await self.sessions.existing(session_id)
            if state is not None:
                state.flags.recovered = False
                channel = state.record.channel
                # A question of another channel's turn is shown there, and parks the turn again.
                mode = mode if channel == TERMINAL else "ask"
                await self.recovery.recover(state, mode, channel)
            return state

    async def _submission(self, row: Mapping[str, Any], state: SessionState | None) -> Submission:
        """The turn as it is stored, with the replies that this process is to show."""
        session_id: str = row["session_id"]
        stored = await self.engine.journal.session(session_id)
        record = state.record if state is not None else self.sessions.record(stored or {})
        body = await self.engine.journal.reply_body(f"{row['id']}-reply")
        reply = reply_from_json(body, record, f"{row['id']}-reply") if body else Reply(record, "")
        earlier = state.pending.undelivered if state is not None else []
        shown = [one for one in earlier if one["id"] != reply.id]
        question = Question(reply.text, reply.labels) if reply.kind == "question" else None
        return Submission(
            await self._turn(row, record, reply.text),
            question,
            tuple([reply_from_json(one["body"], record, one["id"]).text for one in shown]),
            partial(self._mark_delivered, state, earlier),
        )

    async def _turn(self, row: Mapping[str, Any], record: Any, reply: str) -> Turn:
        journal = self.engine.journal
        ended = await journal.turn(row["id"])
        inbound = stored_inbound(row["inbox_id"], row["inbound"]) if row["inbound"] else None
        results = [
            ToolResult(
                ToolCall(call_id, step["name"], _arguments(step)),
                step["result"] or "",
                ok=bool(step["ok"]),
            )
            for call_id, step in (await journal.steps(row["id"])).items()
        ]
        calls, usage = await journal.turn_usage(row["id"])
        return Turn(
            row["id"],
            record,
            inbound or Inbound(record.channel, record.chat_id, "", row["id"], ""),
            (),
            tuple(results),
            reply,
            usage,
            ended["stop"],
            calls,
        )

    async def _mark_delivered(
        self, state: SessionState | None, shown: Sequence[Mapping[str, Any]]
    ) -> None:
        if state is not None:
            state.pending.undelivered = []
        for one in shown:
            await self.engine.journal.close_reply(one["id"], "sent")


def _arguments(step: Mapping[str, Any]) -> dict[str, Any]:
    return readable(
        f"the arguments of {step['call_id']}", lambda: dict(json.loads(step["arguments"])), {}
    )
