"""Turns that plugins start: sub-agents, scheduled work, and forks of a session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hookline_hookspecs import Origin
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.inbound import Inbound
from hookline_hookspecs.turns import Session, Turn

from .. import clock
from ..engine import Engine
from ..sessions.context import TurnContext
from ..sessions.manager import Sessions
from ..sessions.state import ActiveTurn, SessionState
from ..text import new_id
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
    ) -> Turn:
        """Run a turn in its own session, for a sub-agent or scheduled work (``Host.run_turn``)."""
        session_id = session_id or new_id()
        async with self.sessions.lock(session_id):
            state = await self.sessions.existing(session_id)
            if state is None:
                state = await self._create(session_id, parent, kind, tools)
            else:
                await self.recovery.recover(state, "no", "")
            turn = await self._run(_nested_turn(state, parent, prompt, system))
        if parent is not None and parent.active is not None:
            parent.active.usage += turn.usage
        return turn.snapshot()

    async def _create(
        self, session_id: str, parent: TurnContext | None, kind: str, tools: Sequence[str] | None
    ) -> SessionState:
        """Create a session with the parent's chat, model and workspace."""
        if parent is None:
            record = Session(session_id, TERMINAL, "default", None, clock.now(), False, None, kind)
            return await self.sessions.create(record, tools=tools)
        above = parent.state.record
        record = Session(
            session_id, above.channel, above.chat_id, None, clock.now(), False, above.id, kind
        )
        options: dict[str, Any] = {"model": parent.state.model, "workspace": parent.state.workspace}
        return await self.sessions.create(record, tools=tools, **options)

    async def _run(self, turn: ActiveTurn) -> ActiveTurn:
        await self.processor.run_turn(turn)
        self.processor.after_reply(turn)
        return turn


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
