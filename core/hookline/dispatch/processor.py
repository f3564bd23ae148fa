"""Checks one message and runs its command or turn."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace

from hookline_hookspecs import StoreError
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.folder_trust import FolderQuestions
from hookline_hookspecs.inbound import Inbound
from hookline_hookspecs.parts import is_command
from hookline_hookspecs.questions import Question
from hookline_hookspecs.turns import Stop
from hookline_hookspecs.verdicts import Deny

from ..bus.bus import GuardFailed
from ..bus.deadline import HookTimeout
from ..engine import Engine
from ..sessions.context import TurnContext, detached_context, workspace_of
from ..sessions.manager import Sessions
from ..sessions.state import ActiveTurn, Outcome, SessionState, set_question
from ..turn.loop import run_turn
from .content import message_blocks
from .outbox import Outbox
from .question_messages import QuestionMessages
from .slash_commands import SlashCommands

GATE_PAUSES = (1.0, 2.0, 4.0, 8.0, 10.0)
"""Seconds before each repeat of a guard that failed because of the store. While the store is
unavailable, none of them is used up."""
UNCHECKED = "Your message could not be checked, so it was not read. Please send it again later."


class MessageProcessor:
    """Checks messages and answers them."""

    def __init__(
        self, engine: Engine, sessions: Sessions, commands: SlashCommands, outbox: Outbox
    ) -> None:
        self._engine = engine
        self._sessions = sessions
        self._commands = commands
        self._outbox = outbox
        self.questions = QuestionMessages(engine)
        self.processing: set[str] = set()
        """Inbox ids of stored messages that this process is processing."""

    # Checking

    async def context_for(self, inbound: Inbound, inbox_id: str | None) -> TurnContext:
        """The context in which a message is checked; a detached one if it has no session yet.

        Waits while the store is unavailable if the message is from a network channel.
        """
        while True:
            try:
                state = await self._sessions.current(inbound)
            except StoreError:
                if inbox_id is None or inbound.channel == TERMINAL:
                    raise
                await asyncio.sleep(GATE_PAUSES[0])
            else:
                break
        if state is None:
            return detached_context(self._engine, inbound)
        return TurnContext(self._engine, state, message=inbound)

    async def check(
        self, ctx: TurnContext, inbound: Inbound, inbox_id: str | None
    ) -> Inbound | Deny:
        """The message as the ``on_message`` guards return it, or its refusal.

        If a guard fails because of the store or exceeds its deadline, it is called again after each
        of :data:`GATE_PAUSES` (after every second one if it was late) before the message is
        refused. This applies only to network channels, where the message is stored meanwhile.
        """
        is_network = inbound.channel != TERMINAL
        pauses = [*GATE_PAUSES]

        async def again(error: BaseException) -> bool:
            if not (
                is_network and inbox_id and pauses and isinstance(error, (StoreError, HookTimeout))
            ):
                return False
            await asyncio.sleep(pauses[0])
            with suppress(StoreError):
                await self._engine.journal.session("")
                del pauses[: 1 + isinstance(error, HookTimeout)]
            return True

        decision = await self._engine.bus.guard("on_message", ctx, inbound, again)
        if is_network and isinstance(decision.verdict, GuardFailed):
            return replace(decision.verdict, reason=UNCHECKED)
        return decision.verdict if isinstance(decision.verdict, Deny) else decision.event

    def is_immediate(self, text: str) -> bool:
        """True for a command that does not wait for the running turn."""
        found = self._commands.find(text)
        return found is not None and found[1].immediate

    # Answering

    async def run(
        self,
        state: SessionState,
        inbound: Inbound,
        inbox_id: str | None,
        mode: str,
        *,
        left_over: bool = False,
        caller_waits: bool = False,
    ) -> ActiveTurn:
        """Run a message as a command or a turn, in a session that the caller owns.

        ``caller_waits`` means that a program waits for the end of the turn. ``left_over`` means
        that another process left the message unfinished. The process that runs the channel then
        sends the reply.
        """
        if is_command(inbound.text):
            ctx = TurnContext(self._engine, state, mode=mode)
            await self._sessions.store(state)
            answer = await self._commands.run(ctx, inbound)
            if state.pending.rerun is None:
                return await self.close(
                    ctx, inbound, inbox_id, "command", answer, left_over=left_over
                )
            inbound = state.pending.rerun
            state.pending.rerun = None
        turn = ActiveTurn.begin(state, inbound, inbox_id, mode)
        turn.left_over = left_over
        turn.caller_waits = caller_waits or self._outbox.channels.awaits_replies(inbound.channel)
        if inbox_id in self._outbox.direct:
            turn.direct = True
            self._outbox.direct[inbox_id] = turn.id
        return await self.run_turn(turn)

    async def run_immediate(
        self, ctx: TurnContext, inbound: Inbound, inbox_id: str | None
    ) -> ActiveTurn:
        """Run a command while a turn may be running in the session of ``ctx``."""
        return await self.close(
            ctx, inbound, inbox_id, "command", await self._commands.run(ctx, inbound)
        )

    async def run_turn(self, turn: ActiveTurn) -> ActiveTurn:
        """Run a prepared turn in a session that the caller owns."""
        state = turn.state
        blocks = await message_blocks(TurnContext(self._engine, state, turn), turn.inbound)
        if state.question is not None:
            await set_question(self._engine.journal, state, None)
        if turn.can_park and state.flags.open_choices:
            await self.questions.close_choices(state.record.id, turn.inbound.user_id)
        if not state.flags.folder_checked:
            state.flags.folder_checked = True
            self._ask_about_folder(state, turn.inbound)
        try:
            await run_turn(self._engine, turn, blocks)
        except BaseException:
            # Memory and store may differ now, so the next message must read the store.
            self._sessions.evict(state.record.id)
            raise
        return turn

    def _ask_about_folder(self, state: SessionState, inbound: Inbound) -> None:
        """Ask those who may answer whether the folder of a network channel's chat may be trusted.

        Only the configured folder is ever trusted; other chats have a folder of their own.
        """
        record, folder = state.record, state.workspace
        channel = self._outbox.channels.get(inbound.channel)
        is_configured = folder == workspace_of(self._engine, TERMINAL, "")
        if channel is None or not channel.network or not is_configured or record.kind != "chat":
            return
        folders: FolderQuestions = self._engine.services[FolderQuestions]
        asking = folders.post(folder, record, asker=inbound.user_id, show=True)
        self._engine.background.start(asking)

    async def close(
        self,
        ctx: TurnContext,
        inbound: Inbound,
        inbox_id: str | None,
        stop: Stop,
        answer: str | Question,
        *,
        left_over: bool = False,
    ) -> ActiveTurn:
        """Answer a message without a turn, with a command's text or a refusal."""
        # Only a message that runs a turn moves the session to its workspace.
        turn = ActiveTurn.begin(ctx.state, replace(inbound, workspace=None), inbox_id, "no")
        question = answer if isinstance(answer, Question) else None
        reply = turn.make_reply(question.text if question else str(answer), question)
        turn.outcome = Outcome(reply.text, stop=stop, sent=reply if reply.text else None)
        session_id = ctx.state.record.id or None
        await self._engine.journal.close_inbound(
            inbox_id, session_id, turn.outcome.sent, left_over=left_over
        )
        await turn.flush()
        return turn

    # After the reply

    def after_reply(self, turn: ActiveTurn) -> None:
        """Run ``end_of_turn`` in the background, once the reply has been sent."""
        self._engine.background.start(self._end_of_turn(turn))

    async def _end_of_turn(self, turn: ActiveTurn) -> None:
        if turn.outcome.stop not in ("command", "denied") and not turn.parked:
            ctx = TurnContext(self._engine, turn.state, turn)
            with ctx.activate():
                await self._engine.bus.observe("end_of_turn", ctx, turn.snapshot())
            await self._sessions.store_failures(turn.state)
        await turn.flush()
