"""Turns that plugins start: sub-agents, scheduled work, and forks of a session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hookline_hookspecs import Origin, StoreError
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.inbound import Inbound
from hookline_hookspecs.turns import Session, Turn

from .. import clock
from ..engine import Engine
from ..questions.ask import TurnParked, TurnStopped
from ..sessions.context import TurnContext
from ..sessions.manager import Sessions
from ..sessions.state import ActiveTurn, SessionState
from ..text import new_id
from ..turn.resume import resume_turn
from .processor import MessageProcessor
from .recovery import SessionRecovery


@dataclass
class PluginTurns:
    """Runs ``Host.run_turn`` and ``Host.fork``."""

    engine: Engine
    sessions: Sessions
    processor: MessageProcessor
    recovery: SessionRecovery

    async def run_fork(
        self,
        session_id: str,
        prompt: str,
        *,
        model: str | None = None,
        kind: str = "review",
        max_iterations: int | None = None,
    ) -> Turn:
        """Run a turn in a copy of a session (see ``Host.fork``)."""
        state = await self.sessions.fork(session_id, model, kind)
        inbound = _prompt(state.record.channel, state.record.chat_id, state, prompt)
        async with self.sessions.lock(state.record.id):
            turn = ActiveTurn.begin(state, inbound, None, "no")
            turn.max_calls = max_iterations or 0
            await self._run(turn)
        self.sessions.evict(state.record.id)
        return turn.snapshot()

    async def run_nested(
        self,
        prompt: str,
        parent: TurnContext | None,
        kind: str,
        *,
        session_id: str | None = None,
        tools: Sequence[str] | None = None,
        system: str | None = None,
        model: str | None = None,
        resumable: bool = False,
    ) -> Turn:
        """Run a turn in its own session, for a sub-agent or scheduled work (``Host.run_turn``).

        Raises ``TurnParked`` and ``TurnStopped`` in the tool that called a ``resumable`` turn.
        """
        session_id = session_id or new_id()
        async with self.sessions.lock(session_id):
            state = await self.sessions.existing(session_id)
            is_new = state is None
            if state is None:
                state = await self._create(session_id, parent, kind, tools, model)
            elif not resumable:
                await self.recovery.recover(state, "no", "")
            turn = _nested_turn(state, parent, prompt, system)
            turn.parks_with_caller = resumable and _can_call_again(parent)
            if is_new or not resumable:
                turn = await self._run(turn)
            else:
                turn = await self._continue(turn)
        if turn.parked:
            raise TurnParked
        if resumable and turn.outcome.stop == "stopped":
            raise TurnStopped
        if parent is not None and parent.active is not None:
            parent.active.usage += turn.usage
        return turn.snapshot()

    async def _create(
        self,
        session_id: str,
        parent: TurnContext | None,
        kind: str,
        tools: Sequence[str] | None,
        model: str | None,
    ) -> SessionState:
        """Create a session with the parent's chat and workspace, and its model by default."""
        if parent is None:
            record = Session(session_id, TERMINAL, "default", None, clock.now(), False, None, kind)
            return await self.sessions.create(record, tools=tools, model=model or "")
        above = parent.state.record
        record = Session(
            session_id, above.channel, above.chat_id, None, clock.now(), False, above.id, kind
        )
        options: dict[str, Any] = {
            "model": model or parent.state.model,
            "workspace": parent.state.workspace,
        }
        return await self.sessions.create(record, tools=tools, **options)

    async def _continue(self, turn: ActiveTurn) -> ActiveTurn:
        """Continue the session's last turn; without one, run ``turn``, which is what begins now.

        Raises ``StoreError`` if another process has taken it.
        """
        journal, state = self.engine.journal, turn.state
        if not state.history:
            return await self._run(turn)
        unfinished = await journal.running_turns(state.record.id)
        if not unfinished:
            return await self._ended(turn, state.history[-1].turn_id)
        row = unfinished[-1]
        if not await journal.claim("claim_turn", row["id"], row["owner"]):
            raise StoreError(f"Session {state.record.id} is in use by another process.")
        turn = await resume_turn(self.engine, state, row, turn.mode, turn=turn)
        self.processor.after_reply(turn)
        return turn

    async def _ended(self, turn: ActiveTurn, turn_id: str) -> ActiveTurn:
        """The session's last turn as it is stored, which has ended."""
        row = await self.engine.journal.turn(turn_id)
        turn.id = turn_id
        turn.entries = [entry for entry in turn.state.history if entry.turn_id == turn_id]
        turn.iterations, turn.usage = await self.engine.journal.turn_usage(turn_id)
        turn.outcome.stop = row["stop"]
        turn.outcome.reply = row["error"] or turn.entries[-1].message.text
        return turn

    async def _run(self, turn: ActiveTurn) -> ActiveTurn:
        await self.processor.run_turn(turn)
        self.processor.after_reply(turn)
        return turn


def _can_call_again(parent: TurnContext | None) -> bool:
    """Whether the caller can be parked, and calls the sub-agent again once it is resumed.

    A call of a tool that is not read-only is not made twice.
    """
    if parent is None or parent.active is None or parent.tool is None:
        return False
    return parent.active.can_park and parent.tool.read_only


def _nested_turn(
    state: SessionState, parent: TurnContext | None, prompt: str, system: str | None
) -> ActiveTurn:
    """The turn of a sub-agent, in its parent's chat and with its parent's origins."""
    if parent is None:
        inbound = _prompt(state.record.channel, state.record.chat_id, state, prompt, system)
        return ActiveTurn.begin(state, inbound, None, "no")
    place = parent.inbound
    origins = parent.state.origins() if parent.active is not None else ()
    inbound = _prompt(place.channel, place.chat_id, state, prompt, system, origins)
    turn = ActiveTurn.begin(
        state, inbound, None, parent.active.mode if parent.active is not None else "no"
    )
    if parent.active is not None:
        turn.asker, turn.caller_waits = parent.active.asker, parent.active.caller_waits
        turn.waiting_turn = parent.active.waiting_turn
    return turn


def _prompt(
    channel: str,
    chat_id: str,
    state: SessionState,
    prompt: str,
    system: str | None = None,
    origins: tuple[Origin, ...] = (),
) -> Inbound:
    return Inbound(
        channel,
        chat_id,
        user_id="",
        message_id=new_id(),
        text=prompt,
        system=system,
        session_id=state.record.id,
        origins=origins,
        received=clock.now(),
    )
