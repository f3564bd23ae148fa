"""Asks a person in a turn: stores the question, shows it, and waits or parks the turn."""

from __future__ import annotations

import asyncio
import hashlib
import json
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from hookline_hookspecs import crash
from hookline_hookspecs.bound_files import BoundFile
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.gateway import GatewayHost
from hookline_hookspecs.optional_services import ApprovalPolicy, FormDialog
from hookline_hookspecs.questions import (
    Question,
    QuestionAnswer,
    QuestionClosed,
    Questions,
    StoredQuestion,
)
from hookline_hookspecs.replies import Reply

from .. import clock
from ..bus.implementation import TurnInterruption
from ..sessions.context import TurnContext
from ..sessions.state import ActiveTurn
from .delivery import is_of_chat, show_question
from .forms import ask_values, ask_whole
from .service import QuestionService, new_question_id
from .table import AskingCall, new_question

NO_CALL = AskingCall()
DEFAULT_EXPIRES = 24 * 3600.0
"""Seconds until a question of a parked turn expires, unless the service ``ApprovalPolicy`` says
otherwise."""
WAITING_TIMEOUT = 290.0
"""Seconds that a turn waits whose caller waits for it, such as an API client, which gives up after
300."""


class TurnParked(TurnInterruption):
    """The turn waits for an answer. It continues in any process, once there is one."""


class TurnStopped(TurnInterruption):
    """The parked turn was stopped by ``/stop``."""


@dataclass(frozen=True, slots=True)
class AskResult:
    """What came of a question. Without an ``answer``, ``why`` says what happened instead.

    ``nobody``: no one can be asked in this turn. ``unreachable``: no one who may answer can be
    reached. ``expired``: no one answered in time. ``files`` are those of the call, as they were
    when the question was first asked.
    """

    answer: QuestionAnswer | None
    why: Literal["", "nobody", "unreachable", "expired"] = ""
    files: tuple[BoundFile, ...] = ()


async def ask(ctx: TurnContext, question: Question, call: AskingCall = NO_CALL) -> AskResult:
    """Ask a person and return what came of it.

    Only a ``call`` with a key, which has not begun, can be parked.

    Raises:
        TurnParked: the turn continues once there is an answer.
        TurnStopped: the person stopped the parked turn.
        StoreError: the question could not be stored.
    """
    if ctx.active is None:
        if ctx.mode != "ask" or ctx.inbound.channel == TERMINAL:
            return await _ask_plugins(ctx, question)
        return await _TurnQuestion(ctx, None, call).ask(question, None)
    active = ctx.active
    call = replace(call, turn=active.id, waiting_turn=active.waiting_turn)
    turn_question = _TurnQuestion(ctx, active, call)
    earlier = await turn_question.find_earlier()
    if ctx.active.mode == "ask":
        return await turn_question.ask(question, earlier)
    if earlier is None:
        return await _ask_plugins(ctx, question)
    if earlier.state == "open":  # no one is here, but it can still be answered elsewhere
        raise TurnParked
    return turn_question.result(earlier)


async def _ask_plugins(ctx: TurnContext, question: Question) -> AskResult:
    answer = await _ask_hook(ctx, question)
    return AskResult(answer, "" if answer is not None else "nobody", question.files)


async def _ask_hook(ctx: TurnContext, question: Question) -> QuestionAnswer | None:
    if question.fields:
        dialog: FormDialog | None = ctx.engine.services.get(FormDialog)
        mode = ctx.active.mode if ctx.active is not None else ctx.mode
        if dialog is not None and mode == "ask":
            answer = await ask_whole(question, partial(dialog.fill, ctx.state.record.id))
            if answer is not None:
                return answer
        return await ask_values(question, partial(_ask_one, ctx))
    return await _ask_one(ctx, question)


async def _ask_one(ctx: TurnContext, question: Question) -> QuestionAnswer | None:
    found = await ctx.engine.bus.first("on_question", ctx, question, str, QuestionAnswer)
    return QuestionAnswer(found) if isinstance(found, str) else found


async def ask_answer(ctx: TurnContext, question: Question) -> QuestionAnswer | None:
    """Ask, and wait for the answer; None without one (``Context.ask_answer``)."""
    same_call = same_question(question) if question.kind == "approval" else ""
    return (await ask(ctx, question, AskingCall(same_call=same_call))).answer


def same_question(question: Question, fingerprint: str = "") -> str:
    """What an approval is about: a hash of what is shown, and of the call's ``fingerprint``."""
    shown = json.dumps([fingerprint, question.text, question.preview, question.choices])
    return hashlib.sha256(shown.encode()).hexdigest()[:32]


class _TurnQuestion:
    """A question of a running turn, or of a command, which waits like a program's turn."""

    def __init__(self, ctx: TurnContext, turn: ActiveTurn | None, call: AskingCall) -> None:
        self._ctx, self._turn, self._call = ctx, turn, call
        self._caller_waits = turn is None or turn.caller_waits
        self._engine = ctx.engine
        service: QuestionService = ctx.engine.services[Questions]
        self._service = service

    async def find_earlier(self) -> StoredQuestion | None:
        """The question of this call that was asked before, also by an identical call."""
        if self._turn is None or not (self._turn.asked and self._call.key):
            return None
        return await self._service.table.of_call(self._turn.id, self._call.key)

    async def ask(self, question: Question, earlier: StoredQuestion | None) -> AskResult:
        """Ask and wait, or park the turn. ``earlier`` is the question if it is already stored."""
        stored = earlier or await self._store(question)
        if stored.state != "open":
            return self.result(stored)
        question = replace(question, id=stored.id)
        prompt = partial(self._prompt, question, stored, is_earlier=earlier is not None)
        result: AskResult = await self._service.prompts.join(stored.id, prompt)
        return result

    async def _prompt(
        self, question: Question, stored: StoredQuestion, *, is_earlier: bool
    ) -> AskResult:
        """Show the question and wait for the answer, or park the turn."""
        hook = asyncio.create_task(_ask_hook(self._ctx, question))
        closing = asyncio.create_task(self._service.wait_until_closed(stored))
        try:
            await asyncio.wait({hook, closing}, return_when=asyncio.FIRST_COMPLETED)
            if not closing.done() and (answer := hook.result()) is not None:
                return self.result(await self._settle(stored, answer))
            if not closing.done():
                if not await self._show(stored):
                    if is_earlier:  # it can still be answered elsewhere
                        raise TurnParked
                    await self._service.close(stored, "closed")
                    return AskResult(None, "unreachable")
                if self._turn is not None and self._turn.can_park and self._call.key:
                    raise TurnParked
            return self.result(await self._closed(stored, closing))
        except asyncio.CancelledError:
            if not self._engine.closing:
                await self._service.close(stored, "stopped")
            raise
        finally:
            for task in (hook, closing):
                task.cancel()
            await asyncio.gather(hook, closing, return_exceptions=True)

    async def _closed(
        self, stored: StoredQuestion, closing: asyncio.Task[StoredQuestion]
    ) -> StoredQuestion:
        """The question once it is closed; expired if a caller has waited too long."""
        timeout = WAITING_TIMEOUT if self._caller_waits else None
        try:
            async with asyncio.timeout(timeout):
                return await closing
        except TimeoutError:
            return await self._service.close(stored, "expired")

    async def _store(self, question: Question) -> StoredQuestion:
        turn, inbound = self._turn, self._ctx.inbound
        record = self._ctx.state.record
        session = replace(record, channel=inbound.channel, chat_id=inbound.chat_id)
        asker = turn.asker if turn is not None else inbound.user_id
        new = new_question(question, new_question_id(), session, asker, self._expires())
        new = replace(new, turn=self._call.turn)
        stored = await self._service.table.insert(new, self._call)
        if turn is not None:
            turn.asked = True
        if stored is not new:
            return stored
        crash.point("after-question")
        await self._service.tell_opened(stored, self._ctx)
        return stored

    def _expires(self) -> float | None:
        """When the question expires, in Unix seconds; None while a program or a terminal waits."""
        if self._turn is None:
            return clock.now() + WAITING_TIMEOUT
        if self._caller_waits or self._ctx.inbound.channel == TERMINAL:
            return None
        policy: ApprovalPolicy | None = self._engine.services.get(ApprovalPolicy)
        return clock.now() + (policy.expires if policy is not None else DEFAULT_EXPIRES)

    async def _settle(self, stored: StoredQuestion, answer: QuestionAnswer) -> StoredQuestion:
        """Store the answer of a plugin, unless someone else was first."""
        try:
            return await self._service.settle(stored, answer)
        except QuestionClosed:
            return await self._service.table.get(stored.id) or stored

    def result(self, stored: StoredQuestion) -> AskResult:
        """What came of a closed question. Raises ``TurnStopped``."""
        if stored.state == "stopped":
            raise TurnStopped
        if stored.state == "answered":
            return AskResult(stored.answer, files=stored.files)
        return AskResult(None, "expired" if stored.state == "expired" else "nobody")

    async def _show(self, stored: StoredQuestion) -> bool:
        """Show the question in the chats of those who may answer; False if there are none."""
        inbound = self._ctx.inbound
        chats = await show_question(self._engine, stored, inbound.thread)
        if chats and not any(is_of_chat(stored, chat) for chat in chats):
            await self._post_notice(stored)
        return bool(chats)

    async def _post_notice(self, stored: StoredQuestion) -> None:
        """Say in the turn's own chat that someone else is asked."""
        what = f"whether {stored.tool} may run" if stored.tool else "about this"
        text = f"An admin is asked {what}."
        inbound = self._ctx.inbound
        if self._caller_waits:
            self._ctx.notify(text)
            return
        record = self._ctx.state.record
        session = replace(record, channel=inbound.channel, chat_id=inbound.chat_id)
        reply = Reply(
            session,
            text,
            id=f"question-{stored.id}-notice",
            thread=inbound.thread,
            kind="notice",
            person=inbound.user_id,
        )
        await self._engine.services[GatewayHost].post(reply)
